import { expect, test } from 'vitest'
import { followTimeZones, runDueCrons } from '../../../../src/daemon/flows/triggers/cron-triggers.ts'
import { listOccurrences } from '../../../../src/daemon/flows/triggers/list-occurrences.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aTriggersWorld } from '../../../support/triggers-world.ts'

const hourMs = 3_600_000
const daily = { id: 'daily', kind: 'cron', expression: '0 8 * * *' }

onBothDialects('cron triggers', (fresh) => {
  /** A world at 07:30 of Berlin, in winter. */
  const world = async () => {
    const one = await aTriggersWorld(await fresh())
    const now = one.clock.now().getTime()
    const at = Date.parse('2026-11-24T06:30:00Z')
    await one.clock.advance(Math.ceil((now - at) / (24 * hourMs)) * 24 * hourMs + at - now)
    return one
  }
  const times = ({ started }: Awaited<ReturnType<typeof world>>) =>
    started.map(({ trigger }) => trigger.occurrence.slice('cron:20xx-xx-xxT'.length, -':00.000Z:daily'.length))

  test('a run starts at its time in the zone of the tenant, once, also with two replicas', async () => {
    const one = await world()
    await one.publish([daily])
    await runDueCrons(one)
    expect(one.started).toEqual([])
    await one.clock.advance(hourMs / 2)
    await Promise.all([runDueCrons(one), runDueCrons(one)])
    await runDueCrons(one)
    expect(times(one)).toEqual(['07:00'])
    expect(one.started[0]).toMatchObject({ boardId: 'brd_1', spaceId: 'spc_1', startedBy: null, variables: {}, trigger: { type: 'cron' } })
    await one.clock.advance(24 * hourMs)
    await runDueCrons(one)
    expect(times(one)).toEqual(['07:00', '07:00'])
  })

  test('after an outage the newest time of the last hour starts, the others are recorded as missed', async () => {
    const one = await world()
    await one.publish([daily])
    await one.clock.advance(3 * 24 * hourMs + hourMs)
    await runDueCrons(one)
    expect((await one.seen()).map(({ outcome }) => outcome)).toEqual(['missed', 'missed', 'missed', 'started'])
    await one.clock.advance(25 * hourMs)
    await runDueCrons(one)
    expect((await one.seen()).map(({ outcome }) => outcome)).toEqual(['missed', 'missed', 'missed', 'started', 'missed'])
    expect(one.started).toHaveLength(1)
  })

  test('a tenant that moves to another time zone gets its runs by the new one', async () => {
    const one = await world()
    await one.publish([daily])
    await one.db.updateTable('tenants').set({ time_zone: 'Europe/Lisbon' }).where('id', '=', one.tenantId).execute()
    await one.clock.advance(hourMs)
    await runDueCrons(one)
    expect(one.started).toEqual([])
    await one.clock.advance(hourMs)
    await runDueCrons(one)
    expect(times(one)).toEqual(['08:00'])
  })

  test('publishing the same trigger again loses no time that is due; another one begins anew', async () => {
    const one = await world()
    await one.publish([daily])
    await one.clock.advance(hourMs / 2 + 500)
    await one.publish([daily])
    await runDueCrons(one)
    expect(times(one)).toEqual(['07:00'])
    await one.clock.advance(24 * hourMs)
    await one.publish([{ ...daily, expression: '0 8 * * 0-6' }])
    await runDueCrons(one)
    expect(times(one)).toEqual(['07:00'])
  })

  test('an archived board and a suspended tenant start nothing', async () => {
    const one = await world()
    await one.publish([daily])
    await one.publish([daily], { id: 'brd_2' })
    await one.archive('brd_2')
    await one.db.updateTable('tenants').set({ status: 'suspended' }).where('id', '=', one.tenantId).execute()
    await one.clock.advance(hourMs)
    await runDueCrons(one)
    expect(one.started).toEqual([])
  })

  test('a run that the board refuses is recorded as failed; one that failed for another reason is repeated', async () => {
    const one = await world()
    await one.publish([daily])
    await one.clock.advance(hourMs / 2)
    one.runs.fail = new Error('the database is away')
    await runDueCrons(one)
    expect(await one.seen()).toEqual([])
    one.runs.fail = undefined
    one.runs.refuse = 'The board is archived.'
    await runDueCrons(one)
    expect(await one.seen()).toMatchObject([{ outcome: 'failed', reason: 'The board is archived.' }])
  })

  test('a tenant that moves east gets its next run at the earlier time', async () => {
    const one = await world()
    await one.publish([daily])
    await one.db.updateTable('tenants').set({ time_zone: 'Europe/Helsinki' }).where('id', '=', one.tenantId).execute()
    await followTimeZones(one)
    await one.clock.advance(23.75 * hourMs)
    await runDueCrons(one)
    expect(times(one)).toEqual(['06:00'])
  })

  test('times that a new time zone moves into the past were not missed', async () => {
    const one = await world()
    await one.publish([daily])
    await one.clock.advance(hourMs)
    await runDueCrons(one)
    await one.clock.advance(12 * hourMs)
    await one.db.updateTable('tenants').set({ time_zone: 'America/Los_Angeles' }).where('id', '=', one.tenantId).execute()
    await followTimeZones(one)
    const found = await one.db.selectFrom('trigger_occurrences').select('outcome').execute()
    expect(found.map(({ outcome }) => outcome)).not.toContain('missed')
    await one.clock.advance(24 * hourMs)
    await runDueCrons(one)
    expect((await one.db.selectFrom('trigger_occurrences').select('outcome').execute()).length).toBeGreaterThan(found.length)
  })

  test('a trigger that fails delays no other', async () => {
    const one = await world()
    await one.publish([daily])
    await one.clock.advance(1_000)
    await one.publish([daily], { id: 'brd_2' })
    await one.clock.advance(hourMs / 2)
    const { startRun } = one
    await runDueCrons({ ...one, startRun: (tx, run) => (run.boardId === 'brd_1' ? Promise.reject(new Error('a bug')) : startRun(tx, run)) })
    expect(one.started.map(({ boardId }) => boardId)).toEqual(['brd_2'])
  })

  test('the occurrences of a board are listed newest first, in pages, to its tenant alone', async () => {
    const one = await world()
    await one.publish([daily])
    await one.clock.advance(3 * 24 * hourMs + hourMs)
    await runDueCrons(one)
    const actor = await one.aUser('anna')
    const first = await listOccurrences(one, actor, { id: 'brd_1', limit: 3 })
    const rest = await listOccurrences(one, actor, { id: 'brd_1', limit: 3, cursor: first.nextCursor as string })
    expect([...first.occurrences, ...rest.occurrences].map(({ outcome }) => outcome)).toEqual(['started', 'missed', 'missed', 'missed'])
    expect(first.occurrences[0]).toMatchObject({ triggerId: 'daily', kind: 'cron', runId: expect.stringMatching(/^run_/), reason: null })
    expect(rest.nextCursor).toBeNull()
    await expect(listOccurrences(one, actor, { id: 'brd_1', limit: 3, cursor: 'x' })).rejects.toMatchObject({ code: 'VALIDATION' })
    const other = { ...actor, tenantId: 'ten_other' as never }
    await expect(listOccurrences(one, other, { id: 'brd_1', limit: 3 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
