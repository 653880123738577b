import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDeps, commandStore, runAgent } from '../../../src/agent/channel/index.ts'
import { memoryStore } from '../../../src/agent/journal/index.ts'
import type { CommandExecutors } from '../../../src/agent/ports/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReport, type HostWorld, hostWorld } from '../../support/host-world.ts'

let world: HostWorld
let stops: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  const { db } = await emptyDatabase('sqlite')
  world = await hostWorld(db)
  stops = [() => world.stop(), () => db.destroy()]
})
afterEach(async () => {
  for (const stop of stops) await stop()
})

async function turn(stepMs: number): Promise<void> {
  for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve))
  await world.clock.advance(stepMs)
}

async function until(condition: () => unknown, stepMs = 100): Promise<void> {
  for (let round = 0; round < 100_000; round++) {
    if (await condition()) return
    await turn(stepMs)
  }
  throw new Error('it never came to that')
}

/** An agent with scripted engine events; each report contains the number of events until then. */
async function anAgent(change: Partial<AgentDeps> = {}) {
  const identity = await world.enrol('host-1')
  const leaving = new AbortController()
  const wakers = new Set<() => void>()
  const happened: string[] = []
  let broken = false
  const wake = () => {
    for (const one of wakers) one()
    wakers.clear()
  }
  const happen = (project = 'box-north') => {
    happened.push(project)
    wake()
  }
  const reports: { of: unknown; atMs: number; saw: number }[] = []
  const deps: AgentDeps = {
    clock: world.clock,
    random: systemRandom,
    log: silentLogger(),
    identity,
    agentVersion: '0.1.0',
    executors: new Proxy({}, { get: () => async () => ({ report: aReport() }) }) as CommandExecutors,
    store: commandStore(memoryStore()),
    reports: async (of) => {
      reports.push({ of, atMs: world.clock.monotonicMs(), saw: happened.length })
      return of && 'project' in of && of.project === 'kitchen' ? [] : [aReport()]
    },
    machine: async () => ({ engine: null, resources: null }),
    changes: async function* (signal) {
      let seen = happened.length
      signal.addEventListener('abort', () => wake(), { once: true })
      while (!signal.aborted) {
        if (broken) throw new Error('the engine went away')
        for (; seen < happened.length; seen++) yield { project: happened[seen] as string }
        await new Promise<void>((resolve) => wakers.add(resolve))
      }
    },
    signal: leaving.signal,
    ...change,
  } as AgentDeps
  let ended = false
  const running = runAgent(deps).then(() => {
    ended = true
  })
  stops.unshift(async () => {
    leaving.abort()
    await until(() => ended)
    await running
  })
  await until(() => world.told.reports.length === 1)
  const breakOff = (now: boolean) => {
    broken = now
    wake()
  }
  return { identity, reports, happen, breakOff }
}

test('an agent reports every box when it connects', async () => {
  const { reports } = await anAgent()
  expect(reports.map(({ of }) => of)).toEqual([undefined])
  expect(world.told.reports[0]).toMatchObject({ reports: [aReport()] })
})

test('after each command the box that it was for is reported, except after a question, which changed nothing', async () => {
  const { identity, reports } = await anAgent()
  await world.enqueue({ id: 'r1.b1.1.question', hostId: identity.hostId, boxId: 'box_2' })
  await until(() => world.told.results.length === 1)
  await world.enqueue({ id: 'r1.b1.1.check', hostId: identity.hostId, kind: 'tenant-box.healthcheck' } as never)
  await until(() => world.told.reports.length === 2)
  expect(reports.map(({ of }) => of)).toEqual([undefined, { boxId: 'box_1' }])
})

test('the death of a container is reported within seconds', async () => {
  const { reports, happen } = await anAgent()
  const diedMs = world.clock.monotonicMs()
  happen()
  await until(() => world.told.reports.length === 2)
  expect(reports.at(-1)!.atMs - diedMs).toBeLessThan(1_500)
})

test('a change is reported of its box alone, at once whatever was reported before, and of a foreign stack not at all', async () => {
  let onChange: (project?: string) => void = () => {}
  const { reports, happen } = await anAgent({
    watch: async (change) => {
      onChange = change
    },
  })
  onChange()
  await until(() => world.told.reports.length === 2)
  happen('box-south')
  happen('kitchen')
  happen('box-south')
  await until(() => world.told.reports.length === 3)
  for (let second = 0; second < 60; second++) await turn(1_000)
  expect(reports.map(({ of }) => of)).toEqual([undefined, undefined, { project: 'box-south' }, { project: 'kitchen' }])
  expect(reports.at(-1)!.atMs - reports[1]!.atMs).toBeLessThan(1_500)
  expect(world.told.reports).toHaveLength(3)
})

test('a container that exits every second for ten minutes causes few reports, and its last exit is reported', async () => {
  const { reports, happen } = await anAgent()
  const before = reports.length
  for (let second = 0; second < 600; second++) {
    happen()
    await turn(1_000)
    // A report may be delayed here, but is sent within its second.
    await expect.poll(() => world.told.reports.length, { interval: 1 }).toBe(reports.length)
  }
  const during = reports.length - before
  expect(during).toBeGreaterThan(20)
  expect(during).toBeLessThanOrEqual(600 / 15 + 1)
  await until(() => reports.at(-1)!.saw === 600, 1_000)
})

test('changes during a lost event stream are reported when it is back', async () => {
  const { reports, happen, breakOff } = await anAgent()
  breakOff(true)
  await turn(100)
  happen()
  breakOff(false)
  await until(() => world.told.reports.length === 2, 1_000)
  expect(reports.at(-1)!.saw).toBe(1)
})

test('a report that fails is sent again', async () => {
  let failures = 0
  const { happen } = await anAgent({
    reports: async () => {
      if (world.told.reports.length === 1 && failures++ < 2) throw new Error('the engine does not answer')
      return [aReport()]
    },
  })
  happen()
  for (let second = 0; second < 120; second++) await turn(1_000)
  await expect.poll(() => world.told.reports.length).toBe(2)
})
