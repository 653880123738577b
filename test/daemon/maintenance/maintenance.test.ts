import { describe, expect, test } from 'vitest'
import { parseWindow } from '../../../src/core/wall-clock/index.ts'
import { abortRollout, pauseRollout, resumeRollout } from '../../../src/daemon/rollouts/testing.ts'
import { changeTenant } from '../../../src/daemon/tenants/change-tenant.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aMaintenanceWorld } from '../../support/maintenance-world.ts'

type World = Awaited<ReturnType<typeof aMaintenanceWorld>>

const nights = 'mon-fri 02:00-05:00'
const setWindow = (world: World, slug: string, timeZone: string | null = 'Europe/Berlin') =>
  changeTenant(world.deps, anOperator, { slug, timeZone, maintenanceWindow: parseWindow(nights) })

const changed = ['maintenance.changed', ['maintenanceId'], '"tenant"']
const two = [{ slug: 'acme', canary: true }, { slug: 'beta' }]

onBothDialects('maintenance, as schools are told of it', (fresh) => {
  /** Monday noon; acme has a window at night, beta has none. */
  const atNoon = async (change: Parameters<typeof aMaintenanceWorld>[2] = {}) => {
    const world = await aMaintenanceWorld(await fresh(), two, change)
    await world.until('2026-01-05T12:00:00.000Z')
    await setWindow(world, 'acme')
    const admin = await world.person('acme', 'ida', { locale: 'de' })
    const member = await world.person('acme', 'mara', { roles: ['member'] })
    const other = await world.person('beta', 'zoe', { locale: 'tr-TR' })
    return { world, admin, member, other }
  }
  const shownTo = async (api: ReturnType<World['as']>) => (await api.listMaintenance({})).maintenance

  test('an update in a window is announced once: event, mails to administrators, list and bootstrap', async () => {
    const { world, admin, member, other } = await atNoon()
    await world.person('acme', 'gone', { status: 'disabled' })
    await world.person('acme', 'none', { email: null })
    await world.started()
    await world.settle()
    expect(await member.bootstrap({})).toMatchObject({ maintenance: null })
    await world.round()
    await world.round()
    const planned = {
      ...{ startsAt: '2026-01-06T01:00:00.000Z', endsBy: '2026-01-06T04:00:00.000Z', isMeasured: false },
      expectedDowntimeMs: expect.any(Number),
    }
    expect(await shownTo(admin)).toMatchObject([{ ...planned, status: 'planned', isEmergency: false, downtimeMs: null, endedAt: null }])
    expect(await shownTo(member)).toEqual(await shownTo(admin))
    expect((await member.listMaintenance({})).timeZone).toBe('Europe/Berlin')
    expect((await member.bootstrap({})).maintenance).toMatchObject(planned)
    expect(await world.events('acme')).toEqual([changed])
    const [mail, ...more] = world.mails.filter(({ to }) => to.endsWith('@acme.example'))
    expect([mail?.to, mail?.subject, more]).toEqual(['ida@acme.example', 'Wartung des Chats von acme', []])
    expect(mail?.text).toMatch(/in dieser Zeit aktualisiert: Dienstag, 6\. Januar 2026.* 02:00.*05:00.* \(Europe\/Berlin\)\./)
    expect(mail?.text).toMatch(/etwa \d+ Sekunden nicht erreichbar; das ist eine Schätzung/)
    expect(mail?.text).toContain('https://platform.example/school')
    // The other school has no window: its box may begin as soon as its phase does.
    expect(await shownTo(other)).toMatchObject([{ status: 'planned', startsAt: '2026-01-05T12:00:00.000Z', endsBy: null }])
    expect(world.mails.filter(({ to }) => to === 'zoe@beta.example')).toMatchObject([{ subject: 'beta sohbetinin bakımı' }])
  })

  test('what lies beyond the lead time is announced when it comes nearer', async () => {
    const { world, admin } = await atNoon({ leadMs: 2 * 3_600_000 })
    await world.started()
    await world.round()
    expect([await shownTo(admin), await world.events('acme')]).toEqual([[], []])
    await world.until('2026-01-05T23:00:00.000Z')
    await world.round()
    expect(await shownTo(admin)).toMatchObject([{ startsAt: '2026-01-06T01:00:00.000Z' }])
  })

  test('it ends with its measured downtime, which the next announcement names', async () => {
    const { world, admin } = await atNoon()
    await world.started({ targetSlugs: ['acme'] })
    await world.round()
    await world.until('2026-01-06T01:00:00.000Z')
    await world.settle()
    await world.round()
    expect(await shownTo(admin)).toMatchObject([{ status: 'done', downtimeMs: 150_000, endedAt: '2026-01-06T01:00:00.000Z' }])
    expect((await admin.bootstrap({})).maintenance).toBeNull()
    expect(await world.events('acme')).toEqual([changed, changed])
    expect(world.mails).toHaveLength(1)
    world.installed.set('acme', { ...world.reportOf('acme').installed, synapse: '1.157.1' })
    await world.deps.db.updateTable('boxes').set({ installed_synapse: '1.157.1' }).where('slug', '=', 'acme').execute()
    await world.started({ targetSlugs: ['acme'] })
    await world.round()
    expect((await shownTo(admin)).map(({ status }) => status)).toEqual(['planned', 'done'])
    expect(await shownTo(admin)).toMatchObject([{ isMeasured: true, expectedDowntimeMs: 150_000 }, {}])
    expect(world.mails[1]?.text).toContain('etwa 3 Minuten nicht erreichbar, wie bei der letzten Aktualisierung gemessen')
  })

  test('a window that passes moves it to the next one without a second mail', async () => {
    const { world, admin } = await atNoon()
    await world.started({ targetSlugs: ['acme'] })
    await world.round()
    await world.until('2026-01-06T05:00:00.000Z')
    await world.round()
    expect(await shownTo(admin)).toMatchObject([{ startsAt: '2026-01-07T01:00:00.000Z', endsBy: '2026-01-07T04:00:00.000Z' }])
    expect([await world.events('acme'), world.mails.length]).toEqual([[changed, changed], 1])
  })

  test('a pause takes its time away, and a resume gives it one; nobody gets another mail', async () => {
    const { world, admin } = await atNoon()
    const id = await world.started({ targetSlugs: ['acme'] })
    await world.round()
    await pauseRollout(world.deps, anOperator, { id, reason: 'wait' })
    await world.round()
    expect(await shownTo(admin)).toMatchObject([{ status: 'planned', startsAt: null, endsBy: null }])
    expect((await admin.bootstrap({})).maintenance).toMatchObject({ startsAt: null })
    await resumeRollout(world.deps, anOperator, { id } as never)
    await world.round()
    expect(await shownTo(admin)).toMatchObject([{ startsAt: '2026-01-06T01:00:00.000Z' }])
    expect([(await world.events('acme')).length, world.mails.length]).toEqual([3, 1])
  })

  test('an end before it began is told to those who were told of it, and to nobody else', async () => {
    const { world, admin, other } = await atNoon({ leadMs: 3_600_000 })
    const id = await world.started()
    await world.round()
    expect([(await shownTo(admin)).length, (await shownTo(other)).length]).toEqual([0, 1])
    await abortRollout(world.deps, anOperator, { id, reason: 'not now' })
    await world.round()
    await world.round()
    expect([await shownTo(admin), await world.events('acme')]).toEqual([[], []])
    expect(await shownTo(other)).toMatchObject([{ status: 'cancelled', downtimeMs: null }])
    expect((await other.bootstrap({})).maintenance).toBeNull()
    expect(world.mails.map(({ to, subject }) => [to, subject])).toEqual([
      ['zoe@beta.example', 'beta sohbetinin bakımı'],
      ['zoe@beta.example', 'beta sohbetinin bakımı yapılmayacak'],
    ])
  })

  test('a rollback of an updated box is told once', async () => {
    const { world, other } = await atNoon()
    const id = await world.started({ targetSlugs: ['beta'] })
    await world.round()
    await world.settle()
    await world.round()
    await world.rollBack(id, 'snapshot')
    await world.round()
    await world.settle()
    await world.round()
    expect(await shownTo(other)).toMatchObject([{ status: 'reverted' }])
    expect(world.mails.map(({ subject }) => subject)).toEqual(['beta sohbetinin bakımı', 'beta sohbeti önceki sürümüne dönüyor'])
    expect(await world.events('beta')).toEqual([changed, changed, changed])
  })

  test('a box that failed and is left out of a rollout has had its maintenance', async () => {
    const { world, other } = await atNoon()
    world.fates.set('beta', ['rolls-back'])
    const id = await world.started({ targetSlugs: ['beta'] })
    await world.round()
    await world.settle()
    await world.round()
    expect(await shownTo(other)).toMatchObject([{ status: 'planned', startsAt: null }])
    await abortRollout(world.deps, anOperator, { id, reason: 'enough' })
    await world.round()
    expect(await shownTo(other)).toMatchObject([{ status: 'done', downtimeMs: 150_000 }])
    expect(world.mails).toHaveLength(1)
  })

  test('an emergency is announced by the event alone, without a mail', async () => {
    const { world, admin } = await atNoon()
    const id = await world.started({ targetSlugs: ['acme'], ignoreWindows: true })
    await world.deps.db.updateTable('rollouts').set({ kind: 'emergency_cve', status: 'free_100' }).where('id', '=', id).execute()
    await world.deps.db.updateTable('rollout_actions').set({ phase: 'free_100' }).where('rollout_id', '=', id).execute()
    await world.round()
    expect(await shownTo(admin)).toMatchObject([{ isEmergency: true, startsAt: '2026-01-05T12:00:00.000Z', endsBy: null }])
    await abortRollout(world.deps, anOperator, { id, reason: 'no need' })
    await world.round()
    expect([await world.events('acme'), world.mails]).toEqual([[changed, changed], []])
  })

  test('nothing is told of a rollout that waits for another one', async () => {
    const { world, other } = await atNoon()
    await world.started({ targetSlugs: ['beta'] })
    await world.round()
    await world.deps.db.updateTable('maintenance_notices').set({ action_id: 'elsewhere' }).execute()
    const [first] = await world.deps.db.selectFrom('rollouts').select('id').execute()
    await world.deps.db
      .updateTable('rollouts')
      .set({ queued_behind: JSON.stringify([first?.id]) })
      .execute()
    await world.round()
    expect(await shownTo(other)).toHaveLength(1)
  })

  test('nothing is queued where no mail is set up', async () => {
    const { world, admin } = await atNoon({ hasMail: false })
    await world.started({ targetSlugs: ['acme'] })
    await world.round()
    expect([(await shownTo(admin)).length, world.mails]).toEqual([1, []])
    expect(await world.deps.db.selectFrom('jobs').select('topic').where('topic', '=', 'maintenance.mail').execute()).toEqual([])
  })

  describe('who may read it', () => {
    test('every role, its own school alone; nobody without a login', async () => {
      const { world } = await atNoon()
      await world.started()
      await world.round()
      for (const role of ['member', 'head', 'a-role-that-grants-nothing'])
        expect(await shownTo(await world.person('acme', `the-${role}`, { roles: [role] }))).toMatchObject([{ endsBy: expect.any(String) }])
      const ofBeta = await shownTo(world.as('zoe'))
      expect(ofBeta).toMatchObject([{ endsBy: null }])
      expect((await shownTo(world.as('ida'))).map(({ maintenanceId }) => maintenanceId)).not.toContain(ofBeta[0]?.maintenanceId)
      await expect(shownTo(world.as('nobody'))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    })
  })
})
