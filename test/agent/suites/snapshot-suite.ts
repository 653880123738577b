import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Repository, SnapshotRequest, SnapshotStore } from '../../../src/agent/ports/index.ts'
import { maintainRepository } from '../../../src/node/restic/index.ts'

type Under = Readonly<{ store: SnapshotStore; repository: Repository }>

/** Rules for every snapshot store. One repository serves all tests in their order, because opening one is slow. */
export function snapshotSuite(name: string, make: (folder: string) => Promise<Under>): void {
  describe(name, () => {
    let folder: string
    let data: string
    let under: Under
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tenantry-store-'))
      data = join(folder, 'da[t]a')
      await mkdir(join(data, 'media', 'tmp'), { recursive: true })
      await writeFile(join(data, 'media', 'a.png'), 'a picture')
      await writeFile(join(data, 'media', 'tmp', 'half'), 'half a picture')
      under = await make(folder)
      await under.store.prepare(under.repository)
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    const aRequest = (change: Partial<SnapshotRequest> = {}): SnapshotRequest => ({
      tier: 'manual',
      commandId: 'sn_1,a.snapshot',
      slug: 'oak',
      paths: [data],
      ...change,
    })
    const take = async (change: Partial<SnapshotRequest> = {}) => (await under.store.take(under.repository, aRequest(change))).id
    const ids = async () => (await under.store.list(under.repository)).map(({ id }) => id)

    test('a snapshot is found by its id and its command, and says what it is', async () => {
      const { store, repository } = under
      const id = await take({ databaseBytes: 7_000 })
      expect(id).toMatch(/^[0-9a-f]{64}$/)
      const found = await store.find(repository, id)
      expect(found).toMatchObject({ id, paths: [data], tier: 'manual', commandId: 'sn_1,a.snapshot', slug: 'oak', warm: false })
      expect(found).toMatchObject({ databaseBytes: 7_000, totalBytes: 'a picture'.length + 'half a picture'.length })
      expect(Date.parse(found?.takenAt ?? '')).toBeGreaterThan(0)
      expect(await store.ofCommand(repository, 'sn_1,a.snapshot')).toMatchObject({ id })
      expect(await store.find(repository, 'f'.repeat(64))).toBeUndefined()
    })

    test('what is excluded is not in it, whatever characters are in its path', async () => {
      const { store, repository } = under
      const id = await take({ commandId: 'sn_2.snapshot', exclude: [join(data, 'media', 'tmp')] })
      const into = join(folder, 'back')
      await store.restore(repository, { id, path: data, into })
      expect(await readdir(join(into, 'media'))).toEqual(['a.png'])
      expect(await readFile(join(into, 'media', 'a.png'), 'utf8')).toBe('a picture')
    })

    test('a warm snapshot is listed as one and is not the one of its command', async () => {
      const { store, repository } = under
      const id = await take({ commandId: 'sn_3.snapshot', warm: true })
      expect(await store.ofCommand(repository, 'sn_3.snapshot')).toBeUndefined()
      expect(await store.find(repository, id)).toMatchObject({ warm: true, databaseBytes: null })
    })

    test('a live snapshot of unchanged files is taken like any other', async () => {
      const id = await take({ commandId: 'sn_4.snapshot', live: true })
      expect(await under.store.ofCommand(under.repository, 'sn_4.snapshot')).toMatchObject({ id })
    })

    test('snapshots are forgotten by their full ids alone', async () => {
      const { store, repository } = under
      const before = await ids()
      for (const id of ['latest', before[0]?.slice(0, 8) ?? '', '--help'])
        await expect(store.forget(repository, [id])).rejects.toMatchObject({ code: 'VALIDATION' })
      expect(await ids()).toEqual(before)
    })

    test('maintenance forgets only the named snapshots, prunes, checks and lists, and may be repeated', async () => {
      const { store, repository } = under
      const before = await ids()
      const gone = await take({ commandId: 'sn_5.snapshot' })
      const work = { forget: [gone, 'f'.repeat(64)], prune: true, check: 'structure' as const }
      for (const time of ['first', 'second']) {
        const tended = await maintainRepository({ care: store, repository }, work)
        expect([time, tended.forgotten, tended.check]).toEqual([time, work.forget, { ok: true, error: null }])
        expect(tended.present.map(({ snapshotId }) => snapshotId)).toEqual(before)
        expect(tended.freedBytes).toBeGreaterThanOrEqual(0)
      }
    })

    test('a warm snapshot counts for no tier', async () => {
      const { present } = await maintainRepository(
        { care: under.store, repository: under.repository },
        { forget: [], prune: false, check: 'none' },
      )
      expect(present.map(({ tier }) => tier)).toEqual(['manual', 'manual', null, 'manual'])
    })

    test('the recovery password opens the repository once it has its slot, and another does not', async () => {
      const { store, repository } = under
      const recoveryPassword = 'kept in a safe'
      const withKey = (password: string) => ({ ...repository, password })
      await expect(store.list(withKey(recoveryPassword))).rejects.toMatchObject({ code: 'BACKUP_KEY_INVALID' })
      await store.prepare({ ...repository, recoveryPassword })
      await store.addRecoverySlot({ ...repository, recoveryPassword })
      expect((await store.list(withKey(recoveryPassword))).map(({ id }) => id)).toEqual(await ids())
      await expect(store.list(withKey('another'))).rejects.toMatchObject({ code: 'BACKUP_KEY_INVALID' })
    })
  })
}
