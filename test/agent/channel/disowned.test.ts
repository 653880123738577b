import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDeps, commandStore, runAgent } from '../../../src/agent/channel/index.ts'
import { memoryStore } from '../../../src/agent/journal/index.ts'
import type { CommandContext, CommandExecutors } from '../../../src/agent/ports/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { commandById } from '../../../src/daemon/hosts/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReport, type HostWorld, hostWorld } from '../../support/host-world.ts'

// A host that comes back after its boxes were given to others: what the daemon says in its welcome is done before anything else.

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

async function until(condition: () => unknown): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    if (await condition()) return
    for (let socket = 0; socket < 20; socket++) await new Promise((resolve) => setImmediate(resolve))
    await world.clock.advance(100)
  }
  throw new Error('it never came to that')
}

const disowned = { slug: 'elm-school', boxId: 'box_1', ownershipEpoch: 2 }
const aCommand = (ownershipEpoch = 1, boxId = 'box_1') => ({
  boxId,
  kind: 'tenant-box.maintenance',
  payload: { slug: 'elm-school', boxId, ownershipEpoch, on: true, reason: 'a test' },
})

async function anAgent(execute: (context: CommandContext) => Promise<unknown>, change: Partial<AgentDeps> = {}) {
  const identity = await world.enrol('host-1')
  const leaving = new AbortController()
  const start = () => {
    const over = runAgent({
      clock: world.clock,
      random: systemRandom,
      log: silentLogger(),
      identity,
      agentVersion: '0.1.0',
      executors: new Proxy({}, { get: () => execute }) as CommandExecutors,
      store: commandStore(memoryStore()),
      reports: async () => [{ ...aReport(), handedOver: true }],
      machine: async () => ({ engine: null, resources: null }),
      drainMs: 0,
      signal: leaving.signal,
      ...change,
    })
    let ended = false
    void over.finally(() => {
      ended = true
    })
    stops.unshift(async () => {
      leaving.abort()
      await until(() => ended)
    })
  }
  return { identity, start }
}

test('a box of another host is stopped before commands are taken, and then reported', async () => {
  world.told.disowned = [disowned]
  const seen: string[] = []
  const { identity, start } = await anAgent(
    async () => {
      seen.push('command')
      return { report: aReport() }
    },
    {
      disown: async (box) => {
        seen.push(`stop ${box.boxId} under ${box.ownershipEpoch}`)
        return true
      },
    },
  )
  await world.enqueue({ id: 'other', hostId: identity.hostId, ...aCommand(1, 'box_2') } as never)
  start()
  await until(() => seen.includes('command'))
  expect(seen).toEqual(['stop box_1 under 2', 'command'])
  expect(world.told.reports.at(-1)?.reports).toMatchObject([{ handedOver: true }])
})

test('a box that cannot be stopped keeps the agent from taking any command, and it tries again', async () => {
  world.told.disowned = [disowned]
  let tries = 0
  let taken = 0
  const { identity, start } = await anAgent(
    async () => {
      taken += 1
      return { report: aReport() }
    },
    {
      disown: async () => {
        tries += 1
        if (tries < 3) throw problem('BOX_UNHEALTHY', 'synapse did not stop')
        expect(taken).toBe(0)
        return true
      },
    },
  )
  await world.enqueue({ id: 'other', hostId: identity.hostId, ...aCommand(1, 'box_2') } as never)
  start()
  await until(() => taken === 1)
  expect(tries).toBe(3)
})

test('work on it under the former epoch is broken off for good; that of another box goes on', async () => {
  let finish = () => undefined as unknown
  const broken: string[] = []
  const { identity, start } = await anAgent(
    async ({ signal, commandId }) => {
      await new Promise<void>((resolve, reject) => {
        finish = () => resolve()
        signal.addEventListener('abort', () => {
          broken.push(commandId)
          reject(signal.reason)
        })
      })
      return { report: aReport() }
    },
    { disown: async () => true },
  )
  await world.enqueue({ id: 'older', hostId: identity.hostId, ...aCommand() } as never)
  await world.enqueue({ id: 'other', hostId: identity.hostId, ...aCommand(1, 'box_2') } as never)
  start()
  const status = async (id: string) => (await commandById(world.deps.db, id)).status
  await until(async () => (await status('older')) === 'running' && (await status('other')) === 'running')
  world.told.disowned = [disowned]
  await world.stop()
  await world.start()
  await until(async () => (await status('older')) === 'failed')
  expect((await commandById(world.deps.db, 'older')).error?.code).toBe('LEASE_LOST')
  expect(broken).toEqual(['older'])
  expect(await status('other')).toBe('running')
  finish()
  await until(async () => (await status('other')) === 'succeeded')
})
