import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
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

  test('are neither stored, read nor removed where none is left of those that the database names', async () => {
    const folder = join(await aFolder('objects'), 'store')
    let named = false
    const store = folderStore(folder, async () => named)
    const parts = async function* () {
      yield content(10)
    }
    await store.put('files/ten_1/one', parts())
    named = true
    await rename(folder, `${folder}.away`)
    const unavailable = { code: 'OBJECT_STORE_UNAVAILABLE', cause: { message: expect.stringContaining(`${folder} has no objects`) } }
    const uses = [
      () => store.put('files/ten_1/two', parts()),
      () => store.get('files/ten_1/one'),
      () => store.remove('files/ten_1/one'),
      () => store.look(),
    ]
    for (const use of uses) await expect(use()).rejects.toMatchObject(unavailable)
    await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' })
    // The folder on which the disk is mounted, or another, new disk.
    await mkdir(join(folder, 'lost+found'), { recursive: true })
    for (const use of uses) await expect(use()).rejects.toMatchObject(unavailable)
    expect(await readdir(folder)).toEqual(['lost+found'])
    await rm(folder, { recursive: true })
    await rename(`${folder}.away`, folder)
    let bytes = 0
    for await (const part of (await store.get('files/ten_1/one')) ?? []) bytes += part.length
    expect(bytes).toBe(10)
    expect(await store.get('files/ten_1/none')).toBeUndefined()
  })

  test('cannot be kept where the folder cannot be made', async () => {
    const folder = await aFolder('objects')
    await writeFile(join(folder, 'taken'), '')
    await chmod(join(folder, 'taken'), 0o400)
    await expect(folderStore(join(folder, 'taken')).look()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })
})
