import { afterAll, beforeAll, expect, test } from 'vitest'
import { manifestWith, simulatedFleet } from '../../src/demo/fleet.ts'
import { startPrometheus } from '../support/running-prometheus.ts'
import { aSimulatedFleet } from '../support/simulated-fleet.ts'
import { freePorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'

// A real Prometheus scrapes the daemon, and a rollout of simulated boxes asks it between its phases.

let fleet: Awaited<ReturnType<typeof aSimulatedFleet>>
let prometheus: Awaited<ReturnType<typeof startPrometheus>>

/** The last phase updates eiche: until then nothing but a person changes its metric. */
const query = 'tenantry_box_up{box="eiche"}'
const scraped = async () => {
  const { result } = (await prometheus.ask('query', { query })) as { result: { value: [number, string] }[] }
  return result[0]?.value[1]
}

beforeAll(async () => {
  const port = await freePorts(1)
  fleet = await aSimulatedFleet({ TENANTRY_PROMETHEUS_URL: `http://127.0.0.1:${port}`, TENANTRY_ROLLOUTS_POLL_MS: '500' })
  prometheus = await startPrometheus(port, fleet)
  await eventually('the box is scraped', async () => (await scraped().catch(() => undefined)) === '1')
})
afterAll(async () => {
  await prometheus?.close()
  await fleet?.close()
})

test('a gate on a metric of the daemon pauses a rollout, and lets it go when the metric is well again', async () => {
  const { boxes, rollouts } = fleet.api
  const maintenance = (on: boolean) => boxes.maintainBox({ params: { slug: 'eiche' }, body: { on, reason: 'a new disk' } })
  const gates = { eiche: { query, atLeast: 1, for: '3s' } }
  await boxes.applyManifest({ body: { manifest: { ...(simulatedFleet.after as object), gates } } })
  const { id, plan } = await rollouts.createRollout({ body: { reason: 'weekly round' } })
  expect(plan).toMatchObject({ updates: 3, gates: [{ name: 'eiche', query, atLeast: 1, forMs: 3000, onNoAnswer: 'pause' }] })
  const show = () => rollouts.getRollout({ params: { id } })
  const isPaused = async () => (await show()).status === 'paused'
  const statuses = async () => Object.fromEntries((await show()).actions.map(({ tenantSlug, status }) => [tenantSlug, status]))

  await maintenance(true)
  await eventually('Prometheus knows of the maintenance', async () => (await scraped()) === '0')
  await rollouts.startRollout({ params: { id }, body: {} })
  await eventually('the gate pauses the rollout', isPaused)
  expect(await show()).toMatchObject({
    previousStatus: 'canary',
    pauseReason: expect.stringMatching(/^gates after canary stopped: eiche must be at least 1 for 3 s and is 0\. Next: /),
    gates: [{ state: 'failed', value: '0', at: expect.any(String) }],
  })
  expect(await statuses()).toEqual({ linden: 'succeeded', ahorn: 'pending', eiche: 'pending' })

  await maintenance(false)
  await eventually('Prometheus knows of its end', async () => (await scraped()) === '1')
  await rollouts.resumeRollout({ params: { id }, body: {} })
  await eventually('the rollout ends', async () => (await show()).status === 'done')
  expect(await statuses()).toEqual({ linden: 'succeeded', ahorn: 'succeeded', eiche: 'succeeded' })
  const asked = (await show()).auditLog
    .filter(({ action }) => action === 'rollout.gate')
    .map(({ data }) => [data.phase, data.value, data.state])
  expect(asked).toEqual([
    ['canary', '0', 'failed'],
    ['canary', '1', 'holding'],
    ['canary', '1', 'passed'],
    ['pro', '1', 'holding'],
    ['pro', '1', 'passed'],
  ])
})

test('without Prometheus a rollout pauses, and says what does not answer', async () => {
  const { boxes, rollouts } = fleet.api
  await prometheus.close()
  await boxes.applyManifest({ body: { manifest: { ...manifestWith('1.163.3'), gates: { eiche: { query, atLeast: 1 } } } } })
  const { id } = await rollouts.createRollout({ body: { reason: 'weekly round' } })
  await rollouts.startRollout({ params: { id }, body: {} })
  const show = () => rollouts.getRollout({ params: { id } })
  const isPaused = async () => (await show()).status === 'paused'
  await eventually('the gate pauses the rollout', isPaused)
  expect((await show()).pauseReason).toMatch(
    /^gates after canary stopped: eiche must be at least 1 but has no answer \(UNREACHABLE: http:\/\/127\.0\.0\.1/,
  )
  await rollouts.promoteRollout({ params: { id } })
  expect((await show()).status).not.toBe('canary')
})
