import { expect, test } from 'vitest'
import { deliverHandler } from '../../../src/daemon/alerts/alerts.jobs.ts'
import { channelStates, closeAlerts } from '../../../src/daemon/alerts/index.ts'
import { resendAlert } from '../../../src/daemon/alerts/operator-actions.ts'
import { showAlert } from '../../../src/daemon/alerts/read-alerts.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { alertsWorld, anna, restored, stuck } from '../../support/alerts-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { stopped } from '../../support/stopped-clock.ts'
import { webhookServer } from '../../support/webhook-server.ts'

const hourMs = 3_600_000
const textOf = ({ text }: { text: string }) => (JSON.parse(text) as { text: string }).text

onBothDialects('quiet hours and digests', (fresh) => {
  /** A Slack channel that is quiet now and for three more hours. */
  async function atNight(db: Db, answers: Parameters<typeof webhookServer> = [{ status: 200 }], form: 'slack' | 'pagerduty' = 'slack') {
    const server = await webhookServer(...answers)
    const { clock } = await alertsWorld(db, {})
    const timeOf = (ms: number) => new Date(clock.now().getTime() + ms).toISOString().slice(11, 16)
    const quietHours = `${timeOf(-hourMs)}-${timeOf(3 * hourMs)}`
    const channel =
      form === 'slack'
        ? ({ name: 'ops', form, url: server.url } as const)
        : ({ name: 'ops', form, url: server.url, routingKey: 'r' } as const)
    const world = await alertsWorld(db, { channels: [channel], rules: { ops: { minSeverity: 'info', quietHours } } })
    const close = (subject: string) => db.transaction().execute((tx) => closeAlerts(tx, world.clock, { subject, because: 'it is over' }))
    return { ...world, server, close }
  }
  const warning = (n: number) => ({ ...restored(n), severity: 'warning', subject: `box-${n}`, key: `k${n}` }) as const

  test('warnings wait for the morning and come as one digest; a critical alert comes at once', async () => {
    const db = await fresh()
    const { deps, drain, raise, clock, server, close } = await atNight(db)
    const id = await raise(warning(1))
    await raise(warning(2))
    await raise(stuck)
    await drain()
    expect(server.posts.map(textOf)).toEqual([expect.stringMatching(/^\*CRITICAL: north/)])
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'held' }])
    expect(await channelStates(deps)).toMatchObject({ channels: [{ name: 'ops', held: 2, last: { status: 'sent', error: null } }] })
    await raise(warning(1))
    await close('box-2')
    await close('north')
    await drain()
    expect(server.posts.map(textOf).slice(1)).toEqual([expect.stringMatching(/^\*Resolved: north/)])
    await clock.advance(3 * hourMs)
    await drain()
    await drain()
    expect(server.posts).toHaveLength(3)
    const digest = textOf(server.posts[2] as never)
    expect(digest).toMatch(/^\*Warning: Digest of 2 alerts, 1 open\*\n/)
    expect(digest).toMatch(/Warning: .*\(2 times\).*\n.*Resolved: /)
    await clock.advance(24 * hourMs)
    await drain()
    expect(server.posts).toHaveLength(3)
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('an alert that closes between its digest and its end is resolved later', async () => {
    const { drain, raise, clock, server, close } = await atNight(await fresh())
    await raise(warning(1))
    await raise(warning(2))
    await drain()
    await clock.advance(3 * hourMs)
    await drain()
    await drain()
    await close('box-1')
    await drain()
    await drain()
    expect(server.posts.map((post) => textOf(post).split('\n')[0])).toEqual([
      '*Warning: Digest of 2 alerts, 2 open*',
      expect.stringMatching(/^\*Resolved: /),
    ])
  })

  test('one held alert comes as itself, and an on-call service gets each by itself', async () => {
    const single = await atNight(await fresh())
    await single.raise(warning(1))
    await single.drain()
    await single.clock.advance(3 * hourMs)
    await single.drain()
    await single.drain()
    expect(single.server.posts.map(textOf)).toEqual([expect.not.stringContaining('Digest')])
    const onCall = await atNight(await fresh(), [{ status: 202 }], 'pagerduty')
    for (const n of [1, 2]) await onCall.raise(warning(n))
    await onCall.drain()
    expect(onCall.server.posts).toEqual([])
    await onCall.clock.advance(3 * hourMs)
    await onCall.drain()
    await onCall.drain()
    expect(new Set(onCall.server.posts.map(({ text }) => JSON.parse(text).dedup_key)).size).toBe(2)
  })

  test('a replica that dies while it sends a digest sends it again, and then no more', async () => {
    const db = await fresh()
    const { deps, jobDeps, drain, raise, clock, server } = await atNight(db)
    for (const n of [1, 2, 3]) await raise(warning(n))
    await drain()
    await clock.advance(3 * hourMs)
    const killed = deliverHandler({
      ...deps,
      send: async (...message) => {
        await deps.send(...message)
        return new Promise<never>(() => undefined)
      },
    })
    const handlers = { ...jobDeps.handlers, 'alerts.deliver': killed }
    void drainJobs({ ...jobDeps, clock: stopped(clock), handlers })
    await expect.poll(() => server.posts.length).toBe(1)
    await clock.advance(60_000)
    await drain()
    expect(server.posts).toHaveLength(2)
    await clock.advance(hourMs)
    await drain()
    expect(server.posts).toHaveLength(2)
    const rows = await db.selectFrom('alert_deliveries').select('status').execute()
    expect(rows.map(({ status }) => status)).toEqual(['sent', 'sent', 'sent'])
  })

  test('a digest that fails twelve times is dead with all its messages, each of which can be sent again', async () => {
    const { deps, raise, drain, drainAll, server } = await atNight(await fresh(), [
      ...Array.from({ length: 12 }, () => ({ status: 500 })),
      { status: 200 },
    ])
    const ids = [await raise(warning(1)), await raise(warning(2))]
    await drainAll()
    expect(server.posts).toHaveLength(12)
    for (const id of ids) expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'dead', attempts: 12 }])
    await resendAlert(deps, anna, { id: ids[0] as number, which: 'dead' })
    await drain()
    expect(server.posts.map(textOf).slice(12)).toEqual([expect.not.stringContaining('Digest')])
    expect((await showAlert(deps, { id: ids[0] as number })).deliveries).toMatchObject([{ status: 'sent' }])
  })

  test('an operator may send a held alert at once, and its digest does not repeat it', async () => {
    const { deps, raise, drain, clock, server } = await atNight(await fresh())
    const id = await raise(warning(1))
    await drain()
    await resendAlert(deps, anna, { id, which: 'all' })
    await drain()
    expect(server.posts).toHaveLength(1)
    await clock.advance(4 * hourMs)
    await drain()
    expect(server.posts).toHaveLength(1)
  })

  test('a channel gets only what its rules take, and an alert that none takes is shown as such', async () => {
    const [db, server] = [await fresh(), await webhookServer({ status: 200 })]
    const channels = [{ name: 'ops', form: 'slack', url: server.url } as const]
    const { deps, drain, raise } = await alertsWorld(db, { channels, rules: { ops: { minSeverity: 'critical' } } })
    const id = await raise(warning(1))
    await raise(stuck)
    await drain()
    expect(server.posts).toHaveLength(1)
    expect(await showAlert(deps, { id })).toMatchObject({ deliveries: [], hasChannels: false })
    await resendAlert(deps, anna, { id, which: 'all' })
    await drain()
    expect(server.posts).toHaveLength(2)
  })
})
