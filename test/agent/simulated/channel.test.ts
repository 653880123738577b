import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { commandStore, runAgent } from '../../../src/agent/channel/index.ts'
import { memoryStore } from '../../../src/agent/journal/index.ts'
import type { CommandExecutors } from '../../../src/agent/ports/index.ts'
import { type Fault, instant, seededRandom, simulatedHost } from '../../../src/agent/simulated/index.ts'
import { isOffline, isSkewed } from '../../../src/core/hosts/index.ts'
import { hostById } from '../../../src/daemon/hosts/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { hostWorld } from '../../support/host-world.ts'

/** The real agent's channel over a simulated host with its faults. */
async function anAgentOn(...faults: Fault[]) {
  const { db } = await emptyDatabase('sqlite')
  const world = await hostWorld(db)
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-channel-'))
  const host = simulatedHost({ clock: world.clock, random: seededRandom('a host'), folder, profile: { ...instant, faults } })
  const identity = await world.enrol('host-1')
  const leaving = new AbortController()
  const over = runAgent({
    ...host.channel({ clock: world.clock }),
    random: systemRandom,
    log: silentLogger(),
    identity,
    agentVersion: '0.1.0',
    executors: {} as CommandExecutors,
    store: commandStore(memoryStore()),
    reports: async () => [],
    machine: async () => ({ engine: null, resources: null }),
    drainMs: 0,
    signal: leaving.signal,
  })
  const until = async (condition: () => Promise<boolean>) => {
    for (let turn = 0; turn < 100_000; turn++) {
      if (await condition()) return
      for (let sockets = 0; sockets < 10; sockets++) await new Promise((resolve) => setImmediate(resolve))
      await world.clock.advance(1000)
    }
    throw new Error('it never came to that')
  }
  onTestFinished(async () => {
    leaving.abort()
    let ended = false
    void over.then(() => {
      ended = true
    })
    await until(async () => ended)
    await world.stop()
    await db.destroy()
    await rm(folder, { recursive: true })
  })
  const shown = () => hostById(db, identity.hostId)
  return { world, host, until, shown, isAway: async () => isOffline(await shown(), world.clock.now()) }
}

test('a host that is offline is silent, and heard again when the fault is over', async () => {
  const { host, until, isAway } = await anAgentOn()
  await until(async () => !(await isAway()))
  const removeFault = host.inject({ kind: 'offline' })
  await until(isAway)
  removeFault()
  await until(async () => !(await isAway()))
})

test('a host with a wrong clock is heard all the same, and says by how much it is off', async () => {
  const { until, shown } = await anAgentOn({ kind: 'clock-skew', offsetMs: -303_000 })
  await until(async () => (await shown()).clockOffsetMs !== null)
  const host = await shown()
  expect(isSkewed(host)).toBe(true)
  // Simulated time goes on while the question is on its way, so it is known to a minute or two.
  expect(Math.abs((host.clockOffsetMs ?? 0) + 303_000)).toBeLessThan(150_000)
})

test('a slow pull takes its time, and only that of the image that is meant', async () => {
  const { world, host } = await anAgentOn({ kind: 'slow-pull', image: 'synapse', extraMs: [60_000, 60_000] })
  const time = async (image: string) => {
    const startMs = world.clock.monotonicMs()
    let done = false
    const pulled = host.engine.pull(image, {}).then(() => {
      done = true
    })
    while (!done) {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      if (!done) await world.clock.advance(1000)
    }
    await pulled
    return world.clock.monotonicMs() - startMs
  }
  expect(await time('registry.test/tenantry/postgres:15.18')).toBeLessThan(10_000)
  expect(await time('registry.test/tenantry/synapse:v1.157.1')).toBeGreaterThanOrEqual(60_000)
})
