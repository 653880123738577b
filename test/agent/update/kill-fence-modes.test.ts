import { expect, test } from 'vitest'
import type { FileStore } from '../../../src/agent/journal/index.ts'
import { type Fault, simulatedImage } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload, UpdateResult } from '../../../src/core/boxes/index.ts'
import { images } from '../simulated/boxes.ts'
import { aContext, aPayload, aWorld, newPostgres, newSynapse, type Ports, wrapped } from './an-update.ts'
import { isChange, type Mortal, mortal, mortalAtChange, storeWhileAlive, type When } from './mortal.ts'

// Updates whose box is opened before they are decided, killed at every change. Users write whenever they are let in: whatever was answered
// with "stored" is there in the end, and no fence is left behind.

type World = Awaited<ReturnType<typeof aWorld>>
type Payload = BoxCommandPayload<'tenant-box.update'>
type Case = Readonly<{
  fence: Payload['fence']
  meets?: Fault
  targets?: Payload['targets']
  probe?: Payload['probe']
  ends: { outcome: UpdateResult['outcome']; leftOpen?: boolean; image: string }
}>

const exactly = (image: string) => ({ image, digest: simulatedImage(image).digest })
const sick: Fault = { kind: 'probe-fails', image: newSynapse, onceOpen: true }
/** Short, because each probe is a place to be killed at. */
const probe = { consecutive: 2, spacingMs: 60_000, timeoutMs: 90_000 }
const leftOpen = { outcome: 'failed', leftOpen: true, image: newSynapse } as const
const committed = { outcome: 'committed', image: newSynapse } as const
const rolledBack = { outcome: 'rolled_back', image: images.synapse } as const

/** The former Synapse reads what the new one wrote. */
const proven: Payload['fence'] = { mode: 'until-proven', formerSchema: 94 }
const forced: Payload['fence'] = { mode: 'until-proven', isForced: true }

const cases = {
  'healthy, opened once proven': { fence: proven, ends: committed },
  'sick once open, and rolled back by images': { fence: proven, meets: sick, probe, ends: rolledBack },
  'sick once opened by order of an operator': { fence: forced, meets: sick, probe, ends: leftOpen },
  'never good': { fence: proven, meets: { kind: 'probe-fails', image: newSynapse }, probe, ends: rolledBack },
  'healthy, without a fence': { fence: { mode: 'none' }, ends: committed },
  'sick, without a fence': { fence: { mode: 'none' }, meets: sick, probe, ends: leftOpen },
  'hot copy': { fence: { ...proven, snapshot: 'hot' }, ends: committed },
  'hot copy, sick once open': { fence: { ...proven, snapshot: 'hot' }, meets: sick, probe, ends: rolledBack },
  'hot copy, never good': {
    fence: { ...proven, snapshot: 'hot' },
    meets: { kind: 'probe-fails', image: newSynapse },
    probe,
    ends: rolledBack,
  },
  'hot copy, without a fence': { fence: { mode: 'none', snapshot: 'hot' }, ends: committed },
  'hot copy, until stable': { fence: { mode: 'until-stable', snapshot: 'hot' }, ends: committed },
  'hot copy, until stable, never good': {
    fence: { mode: 'until-stable', snapshot: 'hot' },
    meets: { kind: 'probe-fails', image: newSynapse },
    probe,
    ends: rolledBack,
  },
  'without a fence, and its new database dies': {
    fence: { mode: 'none' },
    meets: { kind: 'dies-at-start', image: newPostgres },
    targets: { services: { synapse: exactly(newSynapse), postgres: exactly(newPostgres) }, migrationsHead: '0000' },
    ends: rolledBack,
  },
} satisfies Record<string, Case>
const named = (...names: (keyof typeof cases)[]) => names.map((name) => [name, cases[name] as Case] as const)

/** Users try before every change of the host and every probe; `stored` is what they were promised. */
function users(world: World) {
  const said = { stored: 0 }
  const write = async (name: string, act: () => Promise<unknown>) => {
    if ((isChange(name) || name === 'probe') && world.host.traffic.sendMessage(world.box) === 'stored') said.stored += 1
    return act()
  }
  return { said, around: (ports: Ports) => wrapped(ports, write) }
}

/** Where a life ends: at the `place`-th change of the host, or at the `place`-th line of the journal. */
type Lives = Readonly<{
  life: (place: number, when: When) => Mortal
  agent: (world: World, life: Mortal, around: (ports: Ports) => Ports) => ReturnType<World['agent']>
}>

/** One life that ends at its `place`-th occasion, and another. False when there was no such place. */
async function killedAt({ fence, meets, targets, probe, ends }: Case, place: number, when: When, lives: Lives): Promise<boolean> {
  const world = await aWorld()
  if (meets) world.inject(meets)
  const { said, around } = users(world)
  const order = aPayload({ fence, ...(targets ? { targets } : {}), ...(probe ? { probe } : {}) })
  const life = lives.life(place, when)
  const first = await lives
    .agent(world, life, around)
    .then((deps) => world.run(order, { deps, context: aContext({ signal: life.signal }) }).catch((error: Error) => error))
  if (first instanceof Error) expect(life.died()).toBe(true)
  const result = first instanceof Error ? await world.run(order, { deps: await world.agent(around) }) : first
  await expectEnd(world, result, ends, said.stored)
  return life.died()
}

async function expectEnd(world: World, result: UpdateResult, { outcome, leftOpen = false, image }: Case['ends'], stored: number) {
  expect([result.outcome, result.leftOpen ?? false]).toEqual([outcome, leftOpen])
  if (leftOpen)
    expect(result.error?.message).toMatch(/open to its users on the new version.*tenantry snapshots restore oak --snapshot [0-9a-f]{8}/)
  expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3 + stored, media: 1, objects: 1 })
  expect(await world.fence()).toBeUndefined()
  expect(world.host.running(world.box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(await world.image('synapse')).toBe(image)
  expect(world.host.volumeNames()).toHaveLength(3)
  expect(world.host.openBackups()).toEqual([])
  expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
}

const atChanges: Lives = {
  life: mortalAtChange,
  agent: (world, life, around) => world.agent((ports) => wrapped(around(ports), life.touch), storeWhileAlive(world.fileStore, life)),
}
const atLines: Lives = {
  life: (place, when) => mortal((touch) => touch === place, when),
  agent: (world, life, around) => world.agent(around, killableStore(world.fileStore, life)),
}
const killableStore = (fileStore: FileStore, { touch }: Mortal): FileStore => ({
  ...fileStore,
  write: async (name, text) => void (await touch('write', () => fileStore.write(name, text))),
})

async function killedEverywhere(one: Case, when: When, lives: Lives, from: number): Promise<void> {
  let place = from
  for (; await killedAt(one, place, when, lives); place++) if (place > 500) throw new Error('there is no end of places')
  expect(place - from).toBeGreaterThan(7)
}

/**
 * Numbers of the change with which the box is copied or stopped, and of the line of the journal before it: what comes before is the same in
 * every mode, and has a test of its own.
 */
async function atTheStop({ fence, targets }: Case): Promise<{ change: number; line: number }> {
  const world = await aWorld()
  const changes: string[] = []
  let at: { change: number; line: number } | undefined
  let line = 0
  const around = (ports: Ports) =>
    wrapped(ports, (name, act) => {
      if (isChange(name)) changes.push(name)
      if (name === 'beginBackup' || name === 'stop') at ??= { change: changes.length, line }
      return act()
    })
  const write: FileStore['write'] = (name, text) => {
    line++
    return world.fileStore.write(name, text)
  }
  const counted = { ...world.fileStore, write }
  await world.run(aPayload({ fence, ...(targets ? { targets } : {}) }), { deps: await world.agent(around, counted) })
  if (!at) throw new Error('the box was neither copied nor stopped')
  return at
}

const atEveryChange = async (one: Case, when: When) => killedEverywhere(one, when, atChanges, (await atTheStop(one)).change)
const atEveryLine = async (one: Case) => killedEverywhere(one, 'after', atLines, (await atTheStop(one)).line)

const everyCase = named(
  'sick once open, and rolled back by images',
  'without a fence, and its new database dies',
  'hot copy',
  'hot copy, never good',
)
test.each(everyCase)('killed before every single change of the host: %s', (_, one) => atEveryChange(one, 'before'), 240_000)

test.each(named('sick once open, and rolled back by images', 'sick, without a fence', 'hot copy'))(
  'killed after every single change of the host: %s',
  (_, one) => atEveryChange(one, 'after'),
  240_000,
)

test.each(named(...(Object.keys(cases) as (keyof typeof cases)[])))(
  'killed at every single line of the journal: %s',
  (_, one) => atEveryLine(one),
  240_000,
)
