import { calculateJwkThumbprint } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type AgentDeps,
  type AgentIdentity,
  type AgentKeys,
  type AgentPrivateKey,
  commandStore,
  connect,
  newAgentKey,
  runAgent,
} from '../../../src/agent/channel/index.ts'
import { type FileStore, memoryStore } from '../../../src/agent/journal/index.ts'
import type { CommandContext, CommandExecutors } from '../../../src/agent/ports/index.ts'
import { type BoxMigration, readBoxMigrations } from '../../../src/core/boxes/index.ts'
import { isProblem, problem } from '../../../src/core/kit/index.ts'
import { commandById, commandSweep, hostById } from '../../../src/daemon/hosts/index.ts'
import { revokeHost } from '../../../src/daemon/hosts/revoke-host.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { anna, aReport, type HostWorld, hostWorld } from '../../support/host-world.ts'
import { roundsOf } from '../../support/loops.ts'

const id = 'r1.b1.1.report'
const kind = 'tenant-box.report_versions'

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

/** Lets what is on its way through sockets arrive, without any virtual time passing. */
async function socketsTurn(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Lets sockets and virtual time go on until the condition holds; by small steps, for a call whose time is over is refused. */
async function until(condition: () => unknown, stepMs = 100): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    if (await condition()) return
    await socketsTurn()
    await world.clock.advance(stepMs)
  }
  throw new Error('it never came to that')
}

type Execute = (context: CommandContext, payload: unknown) => Promise<unknown>

/** An agent of host-1 that answers every kind of command in one way. */
async function anAgent(execute: Execute, change: Partial<AgentDeps> & { texts?: FileStore } = {}) {
  const identity = change.identity ?? (await world.enrol('host-1'))
  const leaving = new AbortController()
  const deps: AgentDeps = {
    clock: world.clock,
    random: systemRandom,
    log: silentLogger(),
    identity,
    agentVersion: '0.1.0',
    executors: new Proxy({}, { get: () => execute }) as CommandExecutors,
    store: commandStore(change.texts ?? memoryStore()),
    reports: async () => [],
    machine: async () => ({ engine: null, resources: null }),
    signal: leaving.signal,
    ...change,
  }
  let ended: unknown
  const running = runAgent(deps).then(
    () => {
      ended = 'drained'
    },
    (error) => {
      ended = error
    },
  )
  const leave = async () => {
    leaving.abort()
    await until(() => ended !== undefined)
    await running
    return ended
  }
  stops.unshift(leave)
  return { identity, deps, leave, end: () => ended }
}

/** A command that is no question: its box has one at a time. */
const aChange = (boxId = 'box_1') => ({
  boxId,
  kind: 'tenant-box.maintenance',
  payload: { slug: 'elm-school', boxId, ownershipEpoch: 1, on: true, reason: 'a test' },
})

const status = async (which = id) => (await commandById(world.deps.db, which)).status
const answer = async () => ({ report: aReport() })

test('an agent fetches a command, reports its steps and delivers its result', async () => {
  const acknowledged: string[] = []
  const { identity } = await anAgent(
    async (context) => {
      context.progress({ step: 'look' })
      return answer()
    },
    { acknowledge: async (commandId) => void acknowledged.push(commandId) },
  )
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'succeeded')
  expect((await commandById(world.deps.db, id)).progress.map(({ step }) => step)).toEqual(['look'])
  await until(() => acknowledged.length === 1)
})

test('a drill and another command of its box are worked on at once: it only looks at the box', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const { identity } = await anAgent(async ({ commandId }) => {
    begun.push(commandId)
    await new Promise<void>((resolve) => ends.push(resolve))
    return commandId === 'drill' ? { ok: false, ...aDrilled } : answer()
  })
  const drill = { ...aChange(), kind: 'tenant-box.drill' }
  const payload = { ...drill.payload, snapshotId: 'abcdef12', snapshotSha256: null, deadlineMs: 60_000 }
  await world.enqueue({ id: 'drill', hostId: identity.hostId, ...drill, payload } as never)
  await until(() => begun.length === 1)
  await world.enqueue({ id: 'change', hostId: identity.hostId, ...aChange() } as never)
  await until(() => begun.length === 2)
  expect(begun).toEqual(['drill', 'change'])
  for (const end of ends) end()
  await until(async () => (await status('change')) === 'succeeded')
})

const aDrilled = { snapshotId: 'abcdef12', durationMs: 1, restoreMs: null, tables: null, rows: null, probe: null, error: null }

test('failures travel as problems, and a fault of the agent as one too', async () => {
  const { identity } = await anAgent(async (_, payload) => {
    if ((payload as { slug: string }).slug === 'elm-school') throw problem('BOX_HELD', 'somebody has it')
    throw new TypeError('oops')
  })
  const payload = { slug: 'oak-school', boxId: 'box_2', ownershipEpoch: 1 }
  await world.enqueue({ id: 'one', hostId: identity.hostId })
  await world.enqueue({ id: 'two', hostId: identity.hostId, boxId: 'box_2', payload } as never)
  await until(async () => (await status('one')) === 'failed' && (await status('two')) === 'failed')
  expect((await commandById(world.deps.db, 'one')).error).toEqual({ code: 'BOX_HELD', message: 'somebody has it' })
  expect((await commandById(world.deps.db, 'two')).error?.code).toBe('INTERNAL')
})

test.each([
  ['ENOSPC', 'DISK_FULL', /host's disk is full: .* mkdir '\/mnt\/oak'$/],
  ['EROFS', 'CONFIG', /mkdir '\/mnt\/oak'\. fix: .*ReadWritePaths=/],
])('a host that answers %s is not reported as an agent error', async (code, reported, says) => {
  const { identity } = await anAgent(async () => {
    throw Object.assign(new Error(`${code}: it said so, mkdir '/mnt/oak'`), { code })
  })
  await world.enqueue({ id: 'one', hostId: identity.hostId })
  await until(async () => (await status('one')) === 'failed')
  expect((await commandById(world.deps.db, 'one')).error).toEqual({ code: reported, message: expect.stringMatching(says) })
})

test('boxes are worked on at the same time, one command each, and not more than there are slots', async () => {
  let now = 0
  let most = 0
  const waiting: (() => void)[] = []
  const busy = new Set<unknown>()
  const { identity } = await anAgent(
    async (_, payload) => {
      const { boxId } = payload as { boxId: string }
      expect(busy.has(boxId)).toBe(false)
      busy.add(boxId)
      now += 1
      most = Math.max(most, now)
      await new Promise<void>((resolve) => waiting.push(resolve))
      now -= 1
      busy.delete(boxId)
      return answer()
    },
    { slots: 2 },
  )
  const ids = ['a1', 'a2', 'b1', 'c1']
  for (const one of ids) {
    await world.enqueue({ id: one, hostId: identity.hostId, ...aChange(`box_${one[0]}`) } as never)
  }
  await until(() => now === 2)
  for (let done = 0; done < ids.length; done++) {
    await until(() => waiting.length > 0)
    waiting.shift()?.()
  }
  await until(async () => (await Promise.all(ids.map((one) => status(one)))).every((one) => one === 'succeeded'))
  expect(most).toBe(2)
})

test('questions about a box are answered while it is worked on, even with every hand full', async () => {
  let finish = () => undefined as unknown
  const asked: string[] = []
  const { identity } = await anAgent(
    async (context) => {
      asked.push(context.commandId)
      if (context.commandId === 'work') await new Promise<void>((resolve) => (finish = () => resolve()))
      return answer()
    },
    { slots: 1 },
  )
  await world.enqueue({ id: 'work', hostId: identity.hostId, ...aChange() } as never)
  await until(() => asked.length === 1)
  await world.enqueue({ id: 'more', hostId: identity.hostId, ...aChange('box_2') } as never)
  await world.enqueue({ id: 'question', hostId: identity.hostId })
  await until(async () => (await status('question')) === 'succeeded')
  expect(asked).toEqual(['work', 'question'])
  expect(await status('work')).toBe('running')
  finish()
  // Asked for as soon as the hand is free, not when the poll for questions ends.
  const freedAt = world.clock.monotonicMs()
  await until(async () => (await status('more')) === 'succeeded')
  expect(world.clock.monotonicMs() - freedAt).toBeLessThan(10_000)
})

test('while the daemon is away a command goes on, and its outcome is delivered when it is back', async () => {
  let finish = () => undefined as unknown
  let started = 0
  const texts = memoryStore()
  const { identity } = await anAgent(
    async () => {
      started += 1
      await new Promise<void>((resolve) => {
        finish = () => resolve()
      })
      return answer()
    },
    { texts },
  )
  await world.enqueue({ id, hostId: identity.hostId })
  await until(() => started === 1)
  await world.stop()
  finish()
  await until(async () => JSON.stringify(await commandStore(texts).all()).includes('"ok":true'))
  await world.clock.advance(60 * 60_000)
  await world.start()
  await until(async () => (await status()) === 'succeeded')
  await until(async () => (await texts.names()).length === 0)
  expect(started).toBe(1)
  expect(world.told.results).toHaveLength(1)
})

test('an outcome that was not delivered before the agent died is delivered by the next run, without doing it again', async () => {
  const texts = memoryStore()
  const { identity, leave } = await anAgent(answer, { texts })
  await until(() => world.told.reports.length > 0)
  await leave()
  await world.enqueue({ id, hostId: identity.hostId })
  await world.deps.db.updateTable('commands').set({ status: 'running', lease_token: 1 }).execute()
  const payload = { slug: 'elm-school', boxId: 'box_1', ownershipEpoch: 1 }
  await commandStore(texts).put({ id, kind, boxId: 'box_1', payload, leaseToken: 1, outcome: { ok: true, result: await answer() } })
  await anAgent(() => Promise.reject(new Error('must not run')), { texts, identity })
  await until(async () => (await status()) === 'succeeded')
})

test('a command that was running when the agent died is called again with the same id, before anything new for its box', async () => {
  const texts = memoryStore()
  const order: string[] = []
  const identity = await world.enrol('host-1')
  await world.enqueue({ id, hostId: identity.hostId, ...aChange() } as never)
  await world.deps.db.updateTable('commands').set({ status: 'running', lease_token: 1 }).execute()
  await world.enqueue({ id: 'new', hostId: identity.hostId, ...aChange() } as never)
  await commandStore(texts).put({ id, ...aChange(), leaseToken: 1, outcome: null })
  await anAgent(
    async (context) => {
      order.push(context.commandId)
      return answer()
    },
    { texts, identity, resume: async () => void order.push('resume') },
  )
  await until(async () => (await status('new')) === 'succeeded')
  expect(order).toEqual(['resume', id, 'new'])
  expect(await commandById(world.deps.db, id)).toMatchObject({ status: 'succeeded', leaseToken: 1 })
})

test('a dead agent’s command is offered again to its next run even when its store is lost', async () => {
  const never = new Promise<never>(() => undefined)
  let started = 0
  const first = await anAgent(async () => {
    started += 1
    return never
  })
  await world.enqueue({ id, hostId: first.identity.hostId })
  await until(() => started === 1)
  await first.leave()
  await anAgent(answer, { identity: first.identity })
  await until(async () => (await status()) === 'succeeded')
  expect((await commandById(world.deps.db, id)).leaseToken).toBe(2)
})

test('a long command stays this agent’s: heartbeats keep its lease while every slot is taken', async () => {
  let finish = () => undefined as unknown
  const { identity } = await anAgent(
    async () => {
      await new Promise<void>((resolve) => {
        finish = () => resolve()
      })
      return answer()
    },
    { slots: 1 },
  )
  await world.enqueue({ id, hostId: identity.hostId, deadlineMs: 86_400_000, ...aChange() } as never)
  await until(async () => (await status()) === 'running')
  const sweep = roundsOf({ ...world.deps, owner: 'replica-1' }, commandSweep(world.deps))
  const heardAgo = async () => {
    const { heard_at } = await world.deps.db.selectFrom('commands').select('heard_at').where('id', '=', id).executeTakeFirstOrThrow()
    return world.clock.now().getTime() - Date.parse(heard_at ?? '')
  }
  for (let minutes = 0; minutes < 15; minutes += 0.5) {
    await world.clock.advance(30_000)
    await until(async () => (await heardAgo()) < 25_000, 500)
    await sweep()
    expect(await status()).toBe('running')
  }
  finish()
  await until(async () => (await status()) === 'succeeded')
  expect((await commandById(world.deps.db, id)).leaseToken).toBe(1)
})

test('on its signal an agent finishes what runs, and takes nothing new', async () => {
  let finish = () => undefined as unknown
  const { identity, leave } = await anAgent(async () => {
    await new Promise<void>((resolve) => {
      finish = () => resolve()
    })
    return answer()
  })
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'running')
  const left = leave()
  // Until the daemon has noticed that the poll was closed.
  for (let turns = 0; turns < 20; turns++) await socketsTurn()
  await world.enqueue({ id: 'new', hostId: identity.hostId, boxId: 'box_2' })
  finish()
  expect(await left).toBe('drained')
  expect(await status()).toBe('succeeded')
  expect(await status('new')).toBe('queued')
})

test('what hangs beside the commands, as a program in a container, does not hold the drain', async () => {
  const { identity, leave } = await anAgent(answer, { watch: () => new Promise(() => undefined) })
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'succeeded')
  expect(await leave()).toBe('drained')
})

test('commands that outlast the drain are aborted and stay stored without an outcome', async () => {
  const texts = memoryStore()
  let brokenOffAt = Number.NaN
  const { identity, leave } = await anAgent(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          brokenOffAt = world.clock.monotonicMs()
          reject(signal.reason)
        })
      }),
    { texts, drainMs: 10_000 },
  )
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'running')
  const beganAt = world.clock.monotonicMs()
  expect(await leave()).toBe('drained')
  expect(brokenOffAt - beganAt).toBeGreaterThanOrEqual(10_000)
  // The extra drain time for deliveries is not available to executors.
  expect(brokenOffAt - beganAt).toBeLessThan(15_000)
  expect(await commandStore(texts).all()).toMatchObject([{ id, outcome: null }])
  expect(await status()).toBe('running')
})

test('a command that ends while it is aborted is reported', async () => {
  const texts = memoryStore()
  const { identity, leave } = await anAgent(
    async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return answer()
    },
    { texts, drainMs: 10_000 },
  )
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'running')
  expect(await leave()).toBe('drained')
  expect(await status()).toBe('succeeded')
  expect(await commandStore(texts).all()).toEqual([])
})

test('an agent whose host is revoked ends with the reason, and finishes what it was doing first', async () => {
  let finish = () => undefined as unknown
  const texts = memoryStore()
  const { identity, end } = await anAgent(
    async () => {
      await new Promise<void>((resolve) => {
        finish = () => resolve()
      })
      return answer()
    },
    { texts },
  )
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'running')
  await revokeHost(world.deps, anna, { name: 'host-1', reason: 'sold' })
  await world.clock.advance(26_000)
  finish()
  await until(end)
  expect(end()).toSatisfy((error) => isProblem(error, 'HOST_REVOKED'))
  expect(await commandStore(texts).all()).toMatchObject([{ id, outcome: { ok: true } }])
})

test('an agent that is shut out breaks off no change of a box, however long it takes', async () => {
  let [finish, broken] = [() => undefined as unknown, false]
  const texts = memoryStore()
  const { identity, end } = await anAgent(
    async ({ signal }) => {
      signal.addEventListener('abort', () => (broken = true))
      await new Promise<void>((resolve) => (finish = () => resolve()))
      return answer()
    },
    { texts },
  )
  await world.enqueue({ id, hostId: identity.hostId, ...aChange() } as never)
  await until(async () => (await status()) === 'running')
  await revokeHost(world.deps, anna, { name: 'host-1', reason: 'sold' })
  for (let hours = 0; hours < 3; hours++) {
    await socketsTurn()
    await world.clock.advance(60 * 60_000)
  }
  expect([end(), broken]).toEqual([undefined, false])
  finish()
  await until(end)
  expect(end()).toSatisfy((error) => isProblem(error, 'HOST_REVOKED'))
  expect(await commandStore(texts).all()).toMatchObject([{ id, outcome: { ok: true } }])
})

test('a rejected agent that is stopped drains normally', async () => {
  const texts = memoryStore()
  const { identity, end, leave } = await anAgent(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { texts, drainMs: 10_000 },
  )
  await world.enqueue({ id, hostId: identity.hostId, ...aChange() } as never)
  await until(async () => (await status()) === 'running')
  await revokeHost(world.deps, anna, { name: 'host-1', reason: 'sold' })
  await socketsTurn()
  await world.clock.advance(60 * 60_000)
  await socketsTurn()
  expect(end()).toBeUndefined()
  expect(await leave()).toSatisfy((error) => isProblem(error, 'HOST_REVOKED'))
  expect(await commandStore(texts).all()).toMatchObject([{ id, outcome: null }])
})

/** A store whose disk is full while the condition holds. */
const fullStore = (isFull: (text: string) => boolean): FileStore => {
  const fileStore = memoryStore()
  const write: FileStore['write'] = async (name, text) => {
    if (isFull(text)) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    await fileStore.write(name, text)
  }
  return { ...fileStore, write }
}

test('a command that cannot be kept is refused, and its hand is free for the next one', async () => {
  let full = true
  const begun: string[] = []
  const { identity } = await anAgent(
    async ({ commandId }) => {
      begun.push(commandId)
      return answer()
    },
    { texts: fullStore(() => full), slots: 1 },
  )
  await world.enqueue({ id, hostId: identity.hostId, ...aChange() } as never)
  await until(async () => (await status()) === 'failed')
  const { error } = await commandById(world.deps.db, id)
  expect(error).toMatchObject({ code: 'DISK_FULL', message: expect.stringMatching(/was not started/) })
  full = false
  await world.enqueue({ id: 'next', hostId: identity.hostId, ...aChange() } as never)
  await until(async () => (await status('next')) === 'succeeded')
  expect(begun).toEqual(['next'])
})

test('an outcome that cannot be stored is still delivered', async () => {
  const { identity } = await anAgent(answer, { texts: fullStore((text) => text.includes('"ok":true')), slots: 1 })
  for (const one of ['one', 'two']) {
    await world.enqueue({ id: one, hostId: identity.hostId, ...aChange() } as never)
    await until(async () => (await status(one)) === 'succeeded')
  }
})

test('an outcome whose delivery cannot be recorded still frees its slot', async () => {
  const full = async () => {
    throw new Error('ENOSPC: no space left on device')
  }
  const { identity } = await anAgent(answer, { texts: { ...memoryStore(), remove: full }, acknowledge: full, slots: 1 })
  for (const one of ['one', 'two']) {
    await world.enqueue({ id: one, hostId: identity.hostId, ...aChange() } as never)
    await until(async () => (await status(one)) === 'succeeded')
  }
  await until(async () => (await holding(identity.hostId)) === 0)
})

/** Commands that the daemon's open leases say a host has. */
async function holding(hostId: string): Promise<number> {
  const { db } = world.deps
  const held = await db.selectFrom('commands').select('id').where('host_id', '=', hostId).where('lease_until', 'is not', null).execute()
  return held.length
}

test('a running agent replaces a key that is old, keeps working, and does it again only when that one is old', async () => {
  const identity = await world.enrol('host-1')
  const kept: AgentIdentity[] = []
  let next: AgentPrivateKey | undefined
  const keys: AgentKeys = {
    rotateAfterMs: 86_400_000,
    pending: async () => next,
    prepare: async () => (next = await newAgentKey()),
    adopt: async (adopted) => {
      kept.push(adopted)
      next = undefined
    },
  }
  await anAgent(answer, { identity, keys })
  await until(() => world.told.reports.length > 0)
  await world.clock.advance(86_400_000)
  await until(() => kept.length === 1)
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'succeeded')
  expect((await hostById(world.deps.db, identity.hostId)).keyId).toBe(kept[0]?.keyId)
  const [beats, from] = [5, world.clock.now().getTime()]
  await until(() => world.clock.now().getTime() - from > beats * 30_000)
  expect(kept).toHaveLength(1)
})

test('an agent that died while its key was replaced ends that first, and its resumed commands are heard', async () => {
  const identity = await world.enrol('host-1')
  const texts = memoryStore()
  let next: AgentPrivateKey | undefined = await newAgentKey()
  const { kty, crv, x } = next
  await connect({ ...world, random: systemRandom, identity }).rotateKey({ body: { publicKey: { kty, crv, x } } })
  const renewed = { ...identity, keyId: await calculateJwkThumbprint({ kty, crv, x }), privateKey: next }
  await connect({ ...world, random: systemRandom, identity: renewed }).rotateKey({ body: { publicKey: { kty, crv, x } } })
  await world.clock.advance(60_000) // from here a call by the former key freezes the host
  await world.enqueue({ id, hostId: identity.hostId })
  await world.deps.db.updateTable('commands').set({ status: 'running', lease_token: 1 }).execute()
  const payload = { slug: 'elm-school', boxId: 'box_1', ownershipEpoch: 1 }
  await commandStore(texts).put({ id, kind, boxId: 'box_1', payload, leaseToken: 1, outcome: null })
  const adopted: string[] = []
  const keys: AgentKeys = {
    pending: async () => next,
    prepare: () => Promise.reject(new Error('there is one')),
    adopt: async ({ keyId }) => {
      adopted.push(keyId)
      next = undefined
    },
  }
  const { end } = await anAgent(answer, { identity, texts, keys })
  await until(async () => (await status()) === 'succeeded')
  expect([adopted, end()]).toEqual([[renewed.keyId], undefined])
})

test('an agent whose first call by a new key got no answer goes on with that key', async () => {
  const identity = await world.enrol('host-1')
  let next: AgentPrivateKey | undefined
  const adopted: AgentIdentity[] = []
  const keys: AgentKeys = {
    asked: async () => adopted.length === 0,
    pending: async () => next,
    prepare: async () => (next = await newAgentKey()),
    adopt: async (one) => {
      adopted.push(one)
      next = undefined
    },
  }
  let calls = 0
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const answer = await globalThis.fetch(input, init)
    if (String(input).endsWith('/key') && ++calls === 2) throw new TypeError('the connection broke')
    return answer
  }
  const { end } = await anAgent(answer, { identity, keys, fetch })
  await until(() => calls >= 2)
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'succeeded')
  expect(end()).toBeUndefined()
  const { keyId, status: state } = await hostById(world.deps.db, identity.hostId)
  expect([adopted.map((one) => one.keyId), state]).toEqual([[keyId], 'active'])
})

test('resource usage is reported at most once a minute, with the clock offset', async () => {
  let asked = 0
  const resources = async () => {
    asked += 1
    return { cpus: 2, memoryBytes: 1, diskBytes: 10, freeDiskBytes: 5, boxes: asked }
  }
  const off = { ...world.clock, now: () => new Date(world.clock.now().getTime() + 40_000) }
  const { identity } = await anAgent(answer, { resources, clock: off })
  await until(() => world.told.reports.length > 0)
  const shown = () => hostById(world.deps.db, identity.hostId)
  await until(async () => (await shown()).resources?.boxes === 2)
  const passedMs = world.clock.now().getTime() - Date.parse((await shown()).enrolledAt)
  expect(asked).toBe(2)
  expect(passedMs).toBeGreaterThan(120_000)
  expect((await shown()).clockOffsetMs).toBeGreaterThanOrEqual(40_000)
})

test('an agent that speaks only newer versions than the daemon ends, and says whom to upgrade', async () => {
  const { end } = await anAgent(answer, { speaks: { newest: 9, oldest: 8 } })
  await until(end)
  expect(end()).toSatisfy((error) => isProblem(error, 'PROTOCOL_VERSION') && /upgrade tenantryd/.test((error as Error).message))
})

test('a command of a kind that the agent does not know is answered, not run', async () => {
  const { identity } = await anAgent(answer)
  await world.enqueue({ id, hostId: identity.hostId })
  await world.deps.db.updateTable('commands').set({ kind: 'tenant-box.teleport' }).execute()
  await until(async () => (await status()) === 'failed')
  expect((await commandById(world.deps.db, id)).error).toMatchObject({ code: 'PROTOCOL_VERSION' })
})

test('a result too large for the channel is said to be so', async () => {
  const { identity } = await anAgent(async () => ({ report: { ...aReport(), slug: 'x'.repeat(1_200_000) } }))
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'failed')
  expect((await commandById(world.deps.db, id)).error?.code).toBe('PAYLOAD_TOO_LARGE')
})

test('a result that the daemon refuses becomes a failure that says so, instead of a delivery without end', async () => {
  const { identity } = await anAgent(async () => ({ nonsense: true }))
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'failed')
  expect((await commandById(world.deps.db, id)).error?.message).toMatch(/rejected its result/)
})

test('secrets of a command that is no longer ours are a lost lease', async () => {
  let code = ''
  const { identity } = await anAgent(async (context) => {
    world.told.hostOf.set('box_1', 'host_elsewhere')
    await context.secrets().catch((error) => {
      code = error.code
    })
    return answer()
  })
  await world.enqueue({ id, hostId: identity.hostId, kind: 'tenant-box.prefetch', payload: prefetch } as never)
  await until(() => code !== '')
  expect(code).toBe('LEASE_LOST')
})

test('executors fetch box migrations, and a wrong checksum is refused', async () => {
  const [first, second] = readBoxMigrations(
    ['0001-a.sql', '0002-b.sql'].map((file) => ({ file, text: `create table tenantry.t${file[3]} (id integer);` })),
  ) as [BoxMigration, BoxMigration]
  const seen: unknown[] = []
  const { identity } = await anAgent(async (context) => {
    world.told.migrations = [first, second]
    seen.push(await context.migrations())
    world.told.migrations = [first, { ...second, sql: 'create table public.other (id integer);' }]
    seen.push(await context.migrations().catch((error) => error.code))
    return answer()
  })
  await world.enqueue({ id, hostId: identity.hostId })
  await until(() => seen.length === 2)
  expect(seen).toEqual([[first, second], 'MANIFEST_INVALID'])
})

const prefetch = { slug: 'elm-school', boxId: 'box_1', ownershipEpoch: 1, targets: { services: {}, migrationsHead: '0000' } }

test('an agent that starts with an update in hand may ask for its secrets before its hello was heard: it asks again, and goes on', async () => {
  const texts = memoryStore()
  const identity = await world.enrol('host-1')
  world.told.secrets = { snapshots: { repository: 'file:/snapshots/elm', password: 'a key', env: {}, mayCreate: true } }
  const update = 'tenant-box.update'
  const payload = {
    ...prefetch,
    probe: { consecutive: 1, spacingMs: 1, timeoutMs: 1 },
    fence: { mode: 'until-stable' as const },
    deadlineMs: 1,
  }
  await world.enqueue({ id, hostId: identity.hostId, kind: update, payload } as never)
  await world.deps.db.updateTable('commands').set({ status: 'running', lease_token: 1 }).execute()
  await commandStore(texts).put({ id, kind: update, boxId: 'box_1', payload, leaseToken: 1, outcome: null })
  const refusals: number[] = []
  let sayHello = () => undefined as unknown
  const refused = new Promise<void>((resolve) => {
    sayHello = () => resolve()
  })
  let got: unknown
  await anAgent(
    async (context) => {
      got = await context.secrets()
      throw problem('BOX_UNHEALTHY', 'enough')
    },
    {
      texts,
      identity,
      // Hello looks at the boxes first: that takes its time here.
      reports: async () => {
        await refused
        return []
      },
      fetch: async (input, init) => {
        const answered = await globalThis.fetch(input, init)
        if (String(input).endsWith('/secrets') && !answered.ok) refusals.push(answered.status)
        if (refusals.length > 0) sayHello()
        return answered
      },
    },
  )
  await until(() => got !== undefined)
  expect(refusals[0]).toBe(409)
  expect(got).toEqual(world.told.secrets)
})

test('a command file that cannot be read is set aside, and the agent starts all the same', async () => {
  const texts = memoryStore()
  await texts.write('torn.json', '{"id":"to')
  const damaged: string[] = []
  const { identity } = await anAgent(answer, { store: commandStore(texts, (path) => damaged.push(path)) })
  await world.enqueue({ id, hostId: identity.hostId })
  await until(async () => (await status()) === 'succeeded')
  expect(damaged).toEqual(['torn.json'])
  expect(await texts.aside()).toEqual(['torn.json'])
})

test('what happens to containers is reported once for many events', async () => {
  const asked: unknown[] = []
  let [isFollowed, happen] = [false, () => {}]
  const happened = new Promise<void>((resolve) => {
    happen = resolve
  })
  await anAgent(answer, {
    reports: async (of) => {
      asked.push(of)
      return [aReport()]
    },
    changes: async function* () {
      isFollowed = true
      await happened
      for (let n = 0; n < 3; n++) yield { project: 'box-north' }
      await new Promise(() => undefined)
    },
  })
  const reported = () => world.told.reports.length
  // No virtual time passes here: an answer that takes long would be given up, and the report sent again.
  await expect.poll(() => isFollowed && reported()).toBe(1) // at hello
  happen()
  await socketsTurn()
  await world.clock.advance(2_000)
  await expect.poll(reported).toBe(2)
  expect(asked).toHaveLength(2)
})
