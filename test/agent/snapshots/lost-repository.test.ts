import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Repository } from '../../../src/agent/ports/index.ts'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { maintainRepository } from '../../../src/node/restic/index.ts'
import { quickRepository } from './quick-repository.ts'
import { resticProgram } from './restic-program.ts'

const program = resticProgram() as string

// A store that is gone is not an empty store: with a real restic, for every operation of an agent.
describe.skipIf(!program)('a repository of which snapshots are known', () => {
  let folder: string
  let at: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tenantry-lost-'))
    at = join(folder, 'store', 'ten_oak', 'v1')
    await writeFile(join(folder, 'file'), 'a picture')
  })
  afterEach(async () => {
    await chmod(join(folder, 'store'), 0o700).catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })

  const store = (storeTimeoutMs = 20_000) => resticSnapshots({ program, owner: folder, cacheFolder: join(folder, 'cache'), storeTimeoutMs })
  const repository = (change: Partial<Repository> = {}): Repository => ({ repository: `file:${at}`, password: 'a key', env: {}, ...change })
  const aSnapshot = () => ({ tier: 'daily', commandId: 'cmd_1', slug: 'oak', paths: [join(folder, 'file')] }) as const
  const nothing = { forget: [], prune: false, check: 'structure' } as const
  const lost = { code: 'SNAPSHOT_STORE_LOST', message: expect.stringContaining(' fix: ') }
  const unmount = () => rename(join(folder, 'store'), join(folder, 'store.away'))
  const mount = async () => {
    await rm(join(folder, 'store'), { recursive: true, force: true })
    await rename(join(folder, 'store.away'), join(folder, 'store'))
  }
  /** Each operation, as an agent runs it. */
  const operations = async (given: Repository): Promise<Record<string, unknown>> => {
    const id = 'a'.repeat(64)
    const of = {
      prepare: () => store().prepare(given),
      take: () => store().take(given, aSnapshot()),
      find: () => store().find(given, id),
      restore: () => store().restore(given, { id, path: '/x', into: join(folder, 'into') }),
      forget: () => store().forget(given, [id]),
      maintain: () => maintainRepository({ care: store(), repository: given }, nothing),
    }
    const codes = Object.entries(of).map(async ([name, run]) => [
      name,
      await run().then(
        () => 'done',
        (error) => error.code,
      ),
    ])
    return Object.fromEntries(await Promise.all(codes))
  }
  const everywhere = (code: string) => ({ prepare: code, take: code, find: code, restore: code, forget: code, maintain: code })

  test('is not created where its folder is away, and is used again once it is back', async () => {
    quickRepository(program, 'a key', at)
    const { repositoryId } = await store().prepare(repository())
    const { id } = await store().take(repository(), aSnapshot())
    await unmount()
    expect(await operations(repository({ repositoryId }))).toEqual(everywhere('SNAPSHOT_STORE_LOST'))
    await expect(readdir(join(folder, 'store'))).rejects.toMatchObject({ code: 'ENOENT' })
    await mkdir(join(folder, 'store')) // the empty folder on which the disk is mounted
    expect(await operations(repository())).toEqual(everywhere('SNAPSHOT_STORE_LOST'))
    expect(await readdir(join(folder, 'store'))).toEqual([])
    await mount()
    expect(await store().prepare(repository({ repositoryId }))).toEqual({ repositoryId })
    expect(await store().find(repository({ repositoryId }), id)).toMatchObject({ id })
  })

  test('is created only where the daemon knows of none', async () => {
    await expect(store().prepare(repository())).rejects.toMatchObject(lost)
    const { repositoryId } = await store().prepare(repository({ mayCreate: true }))
    expect(repositoryId).toMatch(/^[0-9a-f]{64}$/)
    expect(await store().prepare(repository({ mayCreate: true }))).toEqual({ repositoryId })
  })

  test('is not another repository at the same place', async () => {
    quickRepository(program, 'a key', at)
    const { repositoryId } = await store().prepare(repository())
    await rm(at, { recursive: true })
    await store().prepare(repository({ mayCreate: true }))
    const known = repository({ repositoryId })
    await expect(store().prepare(known)).rejects.toMatchObject({ ...lost, message: expect.stringContaining(repositoryId.slice(0, 8)) })
    await expect(store().find(known, 'a'.repeat(64))).rejects.toMatchObject(lost)
    await expect(maintainRepository({ care: store(), repository: known }, nothing)).rejects.toMatchObject(lost)
  })

  test('that lost its config is not created again over its data', async () => {
    quickRepository(program, 'a key', at)
    await store().prepare(repository())
    await rm(join(at, 'config'))
    await expect(store().prepare(repository())).rejects.toMatchObject(lost)
    expect(await readdir(at)).not.toContain('config')
  })

  test('that lost its keys is reported as such, not as one with another password alone', async () => {
    quickRepository(program, 'a key', at)
    await rm(join(at, 'keys'), { recursive: true })
    const message = expect.stringMatching(/no key of it is left/)
    await expect(store().prepare(repository())).rejects.toMatchObject({ code: 'BACKUP_KEY_INVALID', message })
  })

  test('behind a folder that cannot be read is unavailable, not lost', async () => {
    await writeFile(join(folder, 'store'), 'a file in the place of a folder')
    await expect(store(1_000).prepare(repository())).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
  })
})
