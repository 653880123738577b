import { expect, test } from 'vitest'
import { isoIn, isoNow } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { userResyncListener } from '../../../src/daemon/users/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aUsersWorld } from '../../support/users-world.ts'

const acme = { params: { slug: 'acme' } }
const of = (localpart: string) => ({ params: { slug: 'acme', localpart } })
const hour = 3_600_000

/** Anna and ben, hourly snapshots, and a function to restore one. */
async function aTenant(db: Db) {
  const room = await aUsersWorld(db)
  const { api, clock, tenantId, box } = room
  for (const localpart of ['anna', 'ben']) await api.createUser({ ...acme, body: { localpart } })
  const snapshot = async (id: string) => {
    await clock.advance(hour)
    const at = isoNow(clock)
    const facts = { tenant_id: tenantId, snapshot_id: id, box_id: box.id, slug: 'acme', tier: 'daily' as const, status: 'present' as const }
    const unknown = { command_id: null, sha256: null, added_bytes: null, files: null, duration_ms: null, installed: null, damaged_by: null }
    await db
      .insertInto('snapshots')
      .values({ ...facts, ...unknown, taken_at: at, recorded_at: at })
      .execute()
    await clock.advance(hour)
  }
  const tell = (kind: 'tenant-box.restore' | 'tenant-box.update' | 'tenant-box.take_over', result: object) =>
    db
      .transaction()
      .execute(async (tx) => userResyncListener({ clock }).resultHandlers?.[kind]?.(tx, { boxId: box.id } as never, result as never))
  const backTo = (snapshotId: string) => tell('tenant-box.restore', { outcome: 'restored', snapshotId })
  const old = async () => (await api.listUsers({ ...acme, query: { oldPassword: 'true' } })).users.map(({ localpart }) => localpart)
  const alerts = async () =>
    (await db.selectFrom('alerts').select(['kind', 'status', 'title']).execute()).map((one) => Object.values(one).join(' '))
  return { ...room, snapshot, tell, backTo, old, alerts }
}

onBothDialects('after a restore', (fresh) => {
  test('users with a password set after the snapshot are reported until they get a newer one', async () => {
    const { api, snapshot, backTo, old, alerts } = await aTenant(await fresh())
    await api.resetUserPassword({ ...of('ben'), body: {} })
    await snapshot('a'.repeat(64))
    await api.resetUserPassword({ ...of('anna'), body: {} })
    expect(await old()).toEqual([])
    await backTo('a'.repeat(64))
    expect(await old()).toEqual(['anna'])
    expect(await alerts()).toEqual(['passwords_lost open 1 user of acme has an older password again after a restore'])
    await api.resetUserPassword({ ...of('anna'), body: {} })
    expect(await old()).toEqual([])
    expect((await alerts())[0]).toContain('closed')
  })

  test('restoring the data from before the first restore makes the newer password valid again; later data does not', async () => {
    const { api, snapshot, backTo, old, alerts } = await aTenant(await fresh())
    await snapshot('a'.repeat(64))
    await api.resetUserPassword({ ...of('anna'), body: {} })
    await snapshot('b'.repeat(64))
    await backTo('a'.repeat(64))
    await snapshot('c'.repeat(64))
    await backTo('a'.repeat(64))
    await backTo('c'.repeat(64))
    expect(await old()).toEqual(['anna'])
    await backTo('b'.repeat(64))
    expect(await old()).toEqual([])
    expect((await alerts())[0]).toContain('closed')
  })

  test.each([
    ['of an unknown snapshot', 'tenant-box.restore', { outcome: 'restored', snapshotId: 'f'.repeat(64) }, []],
    ['that failed', 'tenant-box.restore', { outcome: 'failed', snapshotId: 'a'.repeat(64) }, []],
    ['by a move', 'tenant-box.take_over', { outcome: 'restored', snapshotId: 'a'.repeat(64) }, ['anna']],
    ['by a rolled back update', 'tenant-box.update', { rolledBack: true, snapshotId: 'a'.repeat(64) }, ['anna']],
  ] as const)('outdated passwords after a restore %s', async (_, kind, result, named) => {
    const { api, snapshot, tell, old } = await aTenant(await fresh())
    await snapshot('a'.repeat(64))
    await api.resetUserPassword({ ...of('anna'), body: {} })
    await tell(kind, result)
    expect(await old()).toEqual(named)
  })

  test('the snapshot of an update counts before the database has it', async () => {
    const { api, clock, tell, old } = await aTenant(await fresh())
    await api.resetUserPassword({ ...of('anna'), body: {} })
    const update = (snapshotTakenAt: string) => tell('tenant-box.update', { rolledBack: true, snapshotId: 'e'.repeat(64), snapshotTakenAt })
    await clock.advance(2 * hour)
    await update(isoIn(clock, -hour))
    expect(await old()).toEqual([])
    await update(isoIn(clock, -3 * hour))
    expect(await old()).toEqual(['anna'])
  })

  test('the data of an update is as old as its host says, however far ahead the clock of the host is', async () => {
    const { api, clock, tell, old } = await aTenant(await fresh())
    const there = (ms: number) => isoIn(clock, 24 * hour + ms)
    const update = (minutesAgo: number) => {
      const times = { snapshotTakenAt: there(-minutesAgo * 60_000), report: { at: there(0) } }
      return tell('tenant-box.update', { rolledBack: true, snapshotId: 'e'.repeat(64), ...times })
    }
    await api.resetUserPassword({ ...of('anna'), body: {} })
    await clock.advance(10 * 60_000)
    await update(5)
    expect(await old()).toEqual([])
    await update(15)
    expect(await old()).toEqual(['anna'])
  })
})

onBothDialects('a box restored by hand', (fresh) => {
  test('a reconcile recreates missing accounts, reports outdated passwords, is audited, and can be repeated', async () => {
    const room = await aTenant(await fresh())
    const { api, chat, db, snapshot, work, old, box } = room
    await snapshot('abcdef01'.padEnd(64, '0'))
    await api.resetUserPassword({ ...of('anna'), body: {} })
    chat.accounts.delete('@ben:acme.example')
    const reconcile = () => api.reconcileBox({ ...acme, body: { snapshot: 'abcdef01' } })
    const first = await reconcile()
    await work()
    expect(first).toMatchObject({ slug: 'acme', users: 2, spaces: 0, oldPasswords: 1, takenAt: expect.any(String) })
    expect([await old(), chat.accounts.has('@ben:acme.example')]).toEqual([['anna'], true])
    const made = chat.accounts.get('@ben:acme.example')?.password
    expect(await reconcile()).toEqual(first)
    await work()
    expect(chat.accounts.get('@ben:acme.example')?.password).toBe(made)
    const audit = await db.selectFrom('audit').select(['actor', 'subject', 'data']).where('action', '=', 'box.reconcile').execute()
    expect(audit.map(({ subject, data }) => [subject, JSON.parse(data).boxId])).toEqual([
      ['acme', box.id],
      ['acme', box.id],
    ])
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('a repeated reconcile reports passwords set since the first one: the data may have been restored again', async () => {
    const { api, snapshot, old } = await aTenant(await fresh())
    await snapshot('abcdef01'.padEnd(64, '0'))
    const reconcile = () => api.reconcileBox({ ...acme, body: { snapshot: 'abcdef01' } })
    await api.resetUserPassword({ ...of('anna'), body: {} })
    await reconcile()
    await api.resetUserPassword({ ...of('anna'), body: {} })
    expect(await old()).toEqual([])
    expect(await reconcile()).toMatchObject({ oldPasswords: 1 })
    expect(await old()).toEqual(['anna'])
  })

  test('without a snapshot no passwords are checked, and missing tenants or snapshots are refused', async () => {
    const { api, snapshot } = await aTenant(await fresh())
    expect(await api.reconcileBox({ ...acme, body: {} })).toMatchObject({ oldPasswords: null, takenAt: null })
    await snapshot(`abcdef01${'0'.repeat(56)}`)
    await snapshot(`abcdef01${'1'.repeat(56)}`)
    const refused = (slug: string, snapshot: string) => api.reconcileBox({ params: { slug }, body: { snapshot } })
    await expect(refused('acme', 'abcdef02')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(refused('acme', 'abcdef01')).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(refused('nobody', 'abcdef01')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(refused('acme', '%%%%%%%%')).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  test('a box that is not live is refused', async () => {
    const { api, db } = await aTenant(await fresh())
    await db.updateTable('boxes').set({ live: 0 }).execute()
    await expect(api.reconcileBox({ ...acme, body: {} })).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})
