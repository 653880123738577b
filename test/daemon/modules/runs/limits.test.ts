import { expect, onTestFinished, test, vi } from 'vitest'
import { isoNow } from '../../../../src/core/kit/index.ts'
import { appendEvents } from '../../../../src/daemon/db/index.ts'
import { moduleRunsFeature } from '../../../../src/daemon/modules/index.ts'
import { deliverAll } from '../../../../src/daemon/modules/runs/run-deliveries.ts'
import { runLoops } from '../../../../src/daemon/work/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aModuleRunsWorld, type ModuleRunsWorld } from '../../../support/module-runs-world.ts'

const hears = { events: { subscribes: ['space.created'], publishes: [{ name: 'heard', notify: false }] } }
const storing = `export const on = { 'space.created': async (event, svc) => svc.data.put('at:' + event.seq, 1) }`

/** The loops of the feature, until the end of the test. */
async function aRunningFeature(world: ModuleRunsWorld) {
  const stop = new AbortController()
  const running = runLoops(world, moduleRunsFeature.loops?.(world) ?? [], stop.signal)
  const end = async () => {
    stop.abort()
    await Promise.all(running)
  }
  onTestFinished(end)
  return end
}

onBothDialects('limits of modules', (fresh) => {
  const world = async () => aModuleRunsWorld(await fresh())

  test('10,000 events behind are delivered; one more, and the module skips to new events, visibly and with an alert', async () => {
    const one = await world()
    await one.install('slow', { code: storing, manifest: hears })
    const behind = async (events: number) => {
      const event = { source: 'test', eventType: 'tenant.flags_changed', payload: {}, createdAt: isoNow(one.clock) } as const
      await one.db.transaction().execute((tx) => appendEvents(tx, `tenant:${one.tenantId}`, Array(events - 1).fill(event)))
      await one.happen()
      await deliverAll(one)
    }
    await behind(10_000)
    expect(await one.positionOf('slow')).toMatchObject({ skipped: 0 })
    expect(Object.keys(await one.documents())).toHaveLength(1)
    await behind(10_001)
    expect(await one.positionOf('slow')).toMatchObject({ skipped: 10_001, skipped_at: one.clock.now().toISOString() })
    expect(Object.keys(await one.documents())).toHaveLength(1)
    expect(await one.db.selectFrom('alerts').select('kind').execute()).toEqual([{ kind: 'module_failed' }])
  })

  test('100 publishes a minute: more are refused, shown as a violation, and possible again in the next minute', async () => {
    const one = await world()
    const code = `export const handle = async ({ query }, svc) => {
      let refused = null
      for (let n = 0; n < Number(query.n); n++) await svc.events.publish('heard').catch(({ code }) => { refused = code })
      return { status: 200, body: { refused } }
    }`
    await one.install('loud', { code, manifest: hears })
    const call = await one.app()
    const publish = async (n: number) => ((await (await call(`loud/?n=${n}`)).json()) as { refused: string | null }).refused
    const published = async () => (await one.db.selectFrom('events').select('seq').where('source', '=', 'loud').execute()).length
    expect([await publish(60), await publish(40), await published()]).toEqual([null, null, 100])
    expect([await publish(1), await published()]).toEqual(['RATE_LIMITED', 100])
    const violations = (await one.runs()).flatMap((run) => JSON.parse(run.violations))
    expect(violations).toMatchObject([{ kind: 'publishes' }])
    await one.clock.advance(60_000)
    expect([await publish(101), await published()]).toEqual(['RATE_LIMITED', 200])
  })

  test('counters of health are stored every 10 s, and at the end; a busy module keeps its last 200 runs and its failures', async () => {
    const one = await world()
    await one.install('busy', { code: `export const handle = async ({ path }) => { if (path === '/fail') throw 1 }` })
    const call = await one.app()
    const end = await aRunningFeature(one)
    const counted = async (bucket: string) => {
      const rows = await one.db.selectFrom('module_counters').select('count').where('bucket', 'like', bucket).execute()
      return rows.reduce((sum, { count }) => sum + Number(count), 0)
    }
    await call('busy/fail')
    await one.clock.advance(1)
    for (let n = 0; n < 249; n++) await call('busy/')
    await one.clock.advance(9_998)
    expect(await counted('%')).toBe(0)
    await one.clock.advance(1)
    await vi.waitFor(async () => expect([await counted('ms_%'), await counted('error')]).toEqual([250, 1]))
    await vi.waitFor(async () => expect(await one.runs()).toHaveLength(201))
    expect((await one.runs()).filter(({ status }) => status === 'failed')).toHaveLength(1)
    await call('busy/')
    await end()
    expect(await counted('ms_%')).toBe(251)
  })

  test('a commit wakes the deliveries: no time passes', async () => {
    const one = await world()
    await one.install('counter', { code: storing, manifest: hears })
    await aRunningFeature(one)
    await vi.waitFor(() => expect(one.clock.sleepers()).toBeGreaterThan(1))
    const before = one.clock.now()
    await one.happen()
    await vi.waitFor(async () => expect(Object.keys(await one.documents())).toHaveLength(1), { timeout: 5000 })
    expect(one.clock.now()).toEqual(before)
  })
})
