import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { folderStore } from '../../../src/daemon/objects/folder-store.ts'
import { guardedStore } from '../../../src/daemon/objects/guarded-store.ts'
import { aFolder } from '../../support/running-daemon.ts'
import { content, guardSuite, objectStoreSuite } from './object-store-suite.ts'

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

  guardSuite(async () => {
    const [{ store }, { store: another, left }] = [await aFolderStore(), await aFolderStore()]
    return { store, another, leftInAnother: left }
  })

  test('are unavailable as soon as their disk goes away, and nothing is created in its place', async () => {
    const folder = join(await aFolder('objects'), 'store')
    const some = async () => ['files/ten_1/one']
    const store = guardedStore(folderStore(folder), { someObjects: some, clock: manualClock() })
    const parts = async function* () {
      yield content(10)
    }
    await folderStore(folder).put('files/ten_1/one', parts())
    await store.put('files/ten_1/two', parts())
    await rename(folder, `${folder}.away`)
    const uses = [
      () => store.put('files/ten_1/two', parts()),
      () => store.get('files/ten_1/one'),
      () => store.remove('files/ten_1/one'),
      () => store.look(),
    ]
    for (const use of uses) await expect(use()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
    await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' })
    // The folder on which the disk is mounted, or another, new disk.
    await mkdir(join(folder, 'lost+found'), { recursive: true })
    for (const use of uses) await expect(use()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
    expect(await readdir(folder)).toEqual(['lost+found'])
    await rm(folder, { recursive: true })
    await rename(`${folder}.away`, folder)
    expect(await store.get('files/ten_1/one')).toBeDefined()
  })

  test('that are lost for good are abandoned by creating the file that the error names', async () => {
    const folder = await aFolder('objects')
    const some = async () => ['files/ten_1/one']
    const store = guardedStore(folderStore(folder), { someObjects: some, clock: manualClock() })
    const { cause } = await store.look().catch((error) => error)
    await writeFile(/create the file (\S+)$/.exec(cause.message)?.[1] ?? '', '')
    await store.look()
  })

  test('cannot be kept where the folder cannot be made', async () => {
    const folder = await aFolder('objects')
    await writeFile(join(folder, 'taken'), '')
    await chmod(join(folder, 'taken'), 0o400)
    await expect(folderStore(join(folder, 'taken')).look()).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' })
  })
})
