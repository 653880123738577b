import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handOver, takeOver } from '../../../src/agent/move/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { moving } from '../simulated/boxes.ts'
import { mortalAtChange, storeWhileAlive } from '../update/mortal.ts'
import { aContext, around, handOverPayload, type MovingHost, takeOverPayload, twoHosts } from './a-move.ts'

// The new host was away, the daemon gave the take-over up and the box back to its old host; then the new host's agent starts again.

const given = async () => {
  const two = await twoHosts()
  const handing = async () => handOver(await two.old.agent())(aContext('hand-over'), handOverPayload())
  return { ...two, order: takeOverPayload((await moving(two.clock, handing, 5_000)).snapshot) }
}
type Given = Awaited<ReturnType<typeof given>>

const secretsOf = aContext('take-over').secrets
const abandoned = async (): Promise<never> => {
  throw problem('LEASE_LOST', 'this agent has no command take-over in hand')
}

const live = async ({ next, clock, order }: Given, change: Parameters<typeof aContext>[1], deps = next.agent()) =>
  moving(clock, async () => takeOver(await deps)(aContext('take-over', change), order), 5_000)

/** Kills the agent at its `place`-th change of the new host; false when there was no such place. */
async function killedAt(world: Given, place: number, when: 'before' | 'after'): Promise<boolean> {
  const { next } = world
  const life = mortalAtChange(place, when)
  await live(world, { signal: life.signal }, next.agent(around(life.touch), storeWhileAlive(next.fileStore, life))).catch(() => undefined)
  return life.died()
}

const nothingLeft = async ({ host, boxes }: MovingHost) => {
  expect(await host.engine.projects('')).toEqual([])
  expect(host.volumeNames()).toEqual([])
  expect(await boxes.list()).toEqual([])
}

test.each(['before', 'after'] as const)(
  'killed %s any change of the host: an agent that starts after the box was given back opens no second copy, and clears its own away',
  async (when) => {
    for (let place = 1; ; place++) {
      const world = await given()
      if (!(await killedAt(world, place, when))) {
        expect(place).toBeGreaterThan(7)
        return
      }
      const { next } = world
      // The box was owned and open before the daemon abandoned it: the agent reports that, and the next hello stops the box.
      const opened = (await next.boxes.find('oak')) !== undefined && (await next.fence()) === undefined
      if (opened) continue
      expect(await live(world, { secrets: abandoned })).toMatchObject({ outcome: 'failed', error: { code: 'LEASE_LOST' } })
      await nothingLeft(next)
    }
  },
  120_000,
)

/** One life that ends where the journal is to hear of a step. */
async function killedWhenWriting(world: Given, line: RegExp): Promise<void> {
  const { next } = world
  const dying = new AbortController()
  const write: typeof next.fileStore.write = async (name, text) => {
    if (line.test(text)) dying.abort(new Error('killed'))
    dying.signal.throwIfAborted()
    await next.fileStore.write(name, text)
  }
  await live(world, { signal: dying.signal }, next.agent(undefined, { ...next.fileStore, write })).catch(() => undefined)
  expect(dying.signal.aborted).toBe(true)
}

test('killed between its record and the line of the journal that says so, it is cleared away with its record', async () => {
  const world = await given()
  await killedWhenWriting(world, /"step":"keep","mark":"done"/)
  expect(await world.next.boxes.find('oak')).toBeDefined()
  expect(await live(world, { secrets: abandoned })).toMatchObject({ outcome: 'failed', error: { code: 'LEASE_LOST' } })
  await nothingLeft(world.next)
})

test('killed after it became its own and before it was opened, it stays closed until the daemon says whose it is', async () => {
  const world = await given()
  const { next } = world
  await killedWhenWriting(world, /"step":"open","mark":"intent"/)
  const result = await live(world, { secrets: abandoned })
  expect(result).toMatchObject({ outcome: 'restored', error: { code: 'LEASE_LOST', message: expect.stringMatching(/stays fenced/) } })
  expect(await next.fence()).toContain('take-over')
})

test('a take-over that is abandoned while it runs is rolled back', async () => {
  const world = await given()
  const secrets = async () => ((await world.next.fence()) === undefined && !probed ? secretsOf() : abandoned())
  let probed = false
  const deps = world.next.agent(
    around(async (name, act) => {
      probed ||= name === 'probe'
      return act()
    }),
  )
  expect(await live(world, { secrets }, deps)).toMatchObject({ outcome: 'failed', error: { code: 'LEASE_LOST' } })
  await nothingLeft(world.next)
})

test('a take-over that is abandoned while its snapshot is fetched again is rolled back', async () => {
  const world = await given()
  const { next } = world
  const work = join(next.folder, 'state', 'work')
  let [torn, gone] = [false, false]
  const deps = next.agent(
    around(async (name, act) => {
      if (name === 'probe' && !torn) {
        torn = true
        for (const one of await readdir(work)) await writeFile(join(work, one, 'dump', 'manifest.json'), '{"format":')
      }
      gone ||= torn && name === 'restore'
      return act()
    }),
  )
  const secrets = async () => (gone ? abandoned() : secretsOf())
  expect(await live(world, { secrets }, deps)).toMatchObject({ outcome: 'failed', error: { code: 'LEASE_LOST' } })
  expect(gone).toBe(true)
  await nothingLeft(next)
})

test('while the daemon is away a box that is proven waits, fenced, and is opened when it says so', async () => {
  const world = await given()
  const { next } = world
  let [probed, asked] = [false, 0]
  const secrets = async () => {
    if (!probed) return secretsOf()
    expect(await next.boxes.find('oak')).toBeUndefined()
    if (++asked < 50) throw problem('UNREACHABLE', 'the daemon does not answer')
    return secretsOf()
  }
  const deps = next.agent(
    around(async (name, act) => {
      probed ||= name === 'probe'
      return act()
    }),
  )
  expect(await live(world, { secrets }, deps)).toMatchObject({ outcome: 'restored', error: null, report: { fenced: false } })
  expect(asked).toBe(50)
})

test('a daemon that stays away until the deadline leaves the box where it was', async () => {
  const world = await given()
  let probed = false
  const away = async (): Promise<never> => {
    throw problem('UNREACHABLE', 'the daemon does not answer')
  }
  const deps = world.next.agent(
    around(async (name, act) => {
      probed ||= name === 'probe'
      return act()
    }),
  )
  const result = await live(
    { ...world, order: { ...world.order, deadlineMs: 2 * 86_400_000 } },
    { secrets: async () => (probed ? away() : secretsOf()) },
    deps,
  )
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'COMMAND_EXPIRED' } })
  await nothingLeft(world.next)
})
