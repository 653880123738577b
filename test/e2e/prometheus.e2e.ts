import { afterAll, beforeAll, expect, test } from 'vitest'
import { dashboards, queriesOf, rules } from '../support/prometheus.ts'
import { startPrometheus } from '../support/running-prometheus.ts'
import { aSimulatedFleet } from '../support/simulated-fleet.ts'
import { freePorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'

// A real Prometheus scrapes a daemon with simulated boxes by the example that is handed out, only faster.

let fleet: Awaited<ReturnType<typeof aSimulatedFleet>>
let prometheus: Awaited<ReturnType<typeof startPrometheus>>

type Sample = Readonly<{ metric: Record<string, string>; value: [time: number, value: string] }>
const query = async (expr: string) => ((await prometheus.ask('query', { query: expr })) as { result: Sample[] }).result

beforeAll(async () => {
  fleet = await aSimulatedFleet()
  prometheus = await startPrometheus(await freePorts(1), fleet)
  const target = async () => ((await prometheus.ask('targets')) as { activeTargets: { health: string; lastError: string }[] }).activeTargets
  await eventually('the daemon is scraped', async () => (await target().catch(() => []))[0]?.health === 'up')
  // Rates need two samples.
  const scrapes = async () => Number((await query('count_over_time(up[5m])'))[0]?.value[1])
  await eventually('there are some samples', async () => (await scrapes()) >= 5)
})
afterAll(async () => {
  await prometheus?.close()
  await fleet?.close()
})

test('its API has the boxes and hosts of the daemon', async () => {
  const labels = async (expr: string, name: string) => (await query(expr)).map(({ metric }) => metric[name]).sort()
  expect(await labels('tenantry_box_state{state="running"} == 1', 'box')).toEqual(['ahorn', 'eiche', 'linden'])
  expect(await labels('tenantry_host_up == 1', 'host')).toEqual(['amsel', 'fink'])
})

type Groups = { groups: { rules: { name: string; health: string; lastError?: string; state: string }[] }[] }

test('every alert rule is evaluated without an error, and none fires where all is well', async () => {
  const evaluated = async () => ((await prometheus.ask('rules')) as Groups).groups.flatMap((group) => group.rules)
  await expect.poll(async () => (await evaluated()).filter(({ health }) => health === 'unknown')).toEqual([])
  const found = await evaluated()
  expect(found.map(({ name }) => name).sort()).toEqual(
    rules()
      .map(({ alert }) => alert)
      .sort(),
  )
  expect(found.filter(({ health, lastError }) => health !== 'ok' || lastError)).toEqual([])
  expect(found.filter(({ state }) => state === 'firing')).toEqual([])
})

/** Nothing of the kind exists in a fleet where all is well, or in one that was not updated yet. */
const maybeEmpty = [
  'Boxes that do not run',
  'Firing alerts',
  'Downtime of updates',
  'Rollouts by status',
  'Commands to agents',
  'Routes with errors',
  'Jobs by status',
  'Oldest job',
  'Requests against budgets',
]

test('every query of a dashboard is answered, and has values', async () => {
  // Agents report their clocks once a minute.
  await eventually('clocks are reported', async () => (await query('tenantry_host_clock_offset_seconds')).length === 2)
  const variables: Record<string, string> = { box: 'linden', host: '.*', instance: '.*', __rate_interval: '1m' }
  const empty: string[] = []
  for (const [file, dashboard] of dashboards())
    for (const [title, expr] of queriesOf(dashboard)) {
      const filled = expr.replaceAll(/\$(\w+)/g, (_, name) => variables[name] as string)
      if ((await query(filled)).length === 0 && !maybeEmpty.includes(title)) empty.push(`${file}, ${title}: ${filled}`)
    }
  expect(empty).toEqual([])
})

test('a removed box has no metrics after the next scrape', async () => {
  await fleet.api.boxes.removeBox({ params: { slug: 'eiche' }, body: { confirm: 'eiche', reason: 'closed' } })
  await expect.poll(async () => (await query('tenantry_box_up{box="eiche"}')).length).toBe(0)
  expect(await query('tenantry_box_up')).toHaveLength(2)
})
