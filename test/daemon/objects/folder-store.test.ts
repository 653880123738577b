import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folderStore } from '../../../src/daemon/objects/folder-store.ts'
import { aFolder } from '../../support/running-daemon.ts'
import { content, objectStoreSuite } from './object-store-suite.ts'

async function aFolderStore() {
  const folder = join(await aFolder('objects'), 'of', 'tenants')
  const store = folderStore(folder)
  const left = async () => {
    const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
    return found.filter((one) => one.isFile()).map(({ name }) => name)
  }
  const killedPut = async (key: string, bytes: number) => {
    await mkdir(join(folder, key, '..'), { recursive: true })
    await writeFile(join(folder, `${key}.part`), content(bytes))
  }
  return { store, folder, left, killedPut }
}

describe('objects in a folder', () => {
  objectStoreSuite(aFolderStore)

  test('are this user’s alone', async () => {
    const { store, folder } = await aFolderStore()
    await store.put(
      'files/ten_1/one',
      (async function* () {
        yield content(10)
      })(),
    )
    const modes = await Promise.all(
      ['', 'files', 'files/ten_1', 'files/ten_1/one'].map(async (path) => (await stat(join(folder, path))).mode & 0o777),
    )
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600])
  })

  test('cannot be kept where the folder cannot be made', async () => {
    const folder = await aFolder('objects')
    await writeFile(join(folder, 'taken'), '')
    await chmod(join(folder, 'taken'), 0o400)
    await expect(folderStore(join(folder, 'taken')).look()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })
})
