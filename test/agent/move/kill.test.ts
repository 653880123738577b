import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { handOver, remove, takeBack, takeOver } from '../../../src/agent/move/index.ts'
import { moving } from '../simulated/boxes.ts'
import type { When } from '../update/mortal.ts'
import {
  aContext,
  address,
  around,
  type Deps,
  handOverPayload,
  type MovingHost,
  patient,
  running,
  takeOverPayload,
  twoHosts,
} from './a-move.ts'
import { killedOnce } from './killed-once.ts'

// An agent is killed at every place where it changes the world, before and after the touch; the next one knows only what is on disk.
// Whatever the place, the end is that of an agent that lived, and what people said is there once.

type Two = Awaited<ReturnType<typeof twoHosts>>
type Run = (deps: Deps, context: ReturnType<typeof aContext>) => Promise<unknown>

type Way<World extends Two> = Readonly<{
  given: () => Promise<World>
  host: (world: World) => MovingHost
  run: (world: World) => Run
  expectEnd: (world: World, result: unknown) => Promise<void>
  /** The least number of places that there are. */
  places: number
  from?: number
}>

async function killedEverywhere<World extends Two>(
  when: When,
  { given, host, run, expectEnd, places, from = 1 }: Way<World>,
): Promise<void> {
  for (let place = from; ; place++) {
    const world = await given()
    const live = (deps: Deps, signal?: AbortSignal) =>
      moving(world.clock, () => run(world)(deps, aContext('the-command', signal ? { signal } : {})), 5_000)
    const result = await killedOnce(host(world), { place, when }, live)
    if (result === undefined) {
      expect(place).toBeGreaterThan(places)
      return
    }
    await expectEnd(world, result)
  }
}

const all = { messages: 3, media: 1, objects: 1 }
const handedOver = async () => {
  const two = await twoHosts()
  const { snapshot } = (await moving(
    two.clock,
    async () => handOver(await two.old.agent())(aContext('before'), handOverPayload()),
    5_000,
  )) as {
    snapshot: { snapshotId: string; snapshotSha256: string }
  }
  return { ...two, snapshot }
}

type HandedOver = Awaited<ReturnType<typeof handedOver>>

describe.each(['before', 'after'] as const)('killed %s a change of the host', (when) => {
  test('a hand-over ends with the whole box in its snapshot', async () => {
    const end = async (two: Two, result: unknown) => {
      expect(result).toMatchObject({ snapshot: { tier: 'final' } })
      expect(running(two.old, two.box)).toEqual(['edge'])
      expect(await two.old.fence()).toContain('the-command')
      expect(await readdir(`${two.old.folder}/state/work`).catch(() => [])).toEqual([])
      const { snapshot } = result as { snapshot: { snapshotId: string; snapshotSha256: string } }
      const taken = await moving(
        two.clock,
        async () => takeOver(await two.next.agent())(aContext('take'), takeOverPayload(snapshot)),
        5_000,
      )
      expect(taken.outcome).toBe('restored')
      expect(two.next.host.traffic.content((await two.next.boxes.find('oak'))!)).toMatchObject(all)
    }
    await killedEverywhere(when, {
      given: twoHosts,
      host: ({ old }) => old,
      run: () => (deps, context) => handOver(deps)(context, handOverPayload()),
      expectEnd: end,
      places: 6,
    })
  })

  test('a take-over ends with a box that serves', async () => {
    const run = (two: HandedOver) => (deps: Deps, context: ReturnType<typeof aContext>) =>
      takeOver(deps)(context, takeOverPayload(two.snapshot))
    const end = async ({ next }: Two, result: unknown) => {
      expect(result).toMatchObject({ outcome: 'restored', error: null })
      const box = (await next.boxes.find('oak'))!
      expect(next.host.traffic.content(box)).toMatchObject(all)
      expect(next.host.traffic.sendMessage(box)).toBe('stored')
      expect(next.host.volumeNames()).toHaveLength(3)
      expect(next.host.pinnedImages()).toEqual([])
      expect(await readdir(`${next.folder}/state/work`)).toEqual([])
    }
    await killedEverywhere(when, { given: handedOver, host: ({ next }) => next, run, expectEnd: end, places: 7 })
  })

  test('a take-over that fails leaves nothing', async () => {
    // It begins where the load fails: every place before that is one of the test above.
    const given = async () => {
      const two = await handedOver()
      two.next.host.inject({ kind: 'load-fails' })
      return two
    }
    const run = (two: HandedOver) => (deps: Deps, context: ReturnType<typeof aContext>) =>
      takeOver(deps)(context, takeOverPayload(two.snapshot))
    const end = async ({ next }: Two, result: unknown) => {
      expect(result).toMatchObject({ outcome: 'failed' })
      expect(await next.host.engine.projects('')).toEqual([])
      expect(next.host.volumeNames()).toEqual([])
      expect(next.host.pinnedImages()).toEqual([])
      expect(await next.boxes.list()).toEqual([])
      expect(await readdir(`${next.folder}/boxes`).catch(() => [])).toEqual([])
      expect(await readdir(`${next.folder}/state/work`).catch(() => [])).toEqual([])
    }
    await killedEverywhere(when, { given, host: ({ next }) => next, run, expectEnd: end, places: 7, from: 8 })
  })

  test('a box that is taken back serves again', async () => {
    const end = async ({ old, box }: Two, result: unknown) => {
      expect(result).toMatchObject({ probe: { verdict: 'ok' }, report: { ownershipEpoch: 2, fenced: false } })
      expect((await old.boxes.find('oak'))!.handedOver).toBeUndefined()
      expect(old.host.traffic.sendMessage(box)).toBe('stored')
    }
    const run = () => (deps: Deps, context: ReturnType<typeof aContext>) =>
      takeBack(deps)(context, { ...address, ownershipEpoch: 2, probe: patient })
    await killedEverywhere(when, { given: handedOver, host: ({ old }) => old, run, expectEnd: end, places: 2 })
  })

  test('a removal ends with nothing', async () => {
    const end = async ({ old }: Two, result: unknown) => {
      expect(result).toMatchObject({ removed: expect.arrayContaining(['record oak']) })
      expect(await old.host.engine.projects('')).toEqual([])
      expect(old.host.volumeNames()).toEqual([])
      expect(await old.boxes.list()).toEqual([])
      expect(await readdir(`${old.folder}/boxes`)).toEqual([])
    }
    const run = () => (deps: Deps, context: ReturnType<typeof aContext>) => remove(deps)(context, { ...address, ownershipEpoch: 2 })
    await killedEverywhere(when, { given: handedOver, host: ({ old }) => old, run, expectEnd: end, places: 1 })
  })
})

test('at no moment of a move do both hosts serve, nor does a client reach what may be cleared away', async () => {
  const two = await handedOver()
  const { old, next, box } = two
  const serving = async () => {
    const moved = await next.boxes.find('oak')
    const project = { ...box, project: { ...box.project, name: 'next-oak', folder: `${next.folder}/boxes/oak` } }
    const there = next.host.traffic.sendMessage(moved ?? project)
    return { here: old.host.traffic.sendMessage(box), there, recorded: moved !== undefined }
  }
  const seen: Awaited<ReturnType<typeof serving>>[] = []
  const deps = await next.agent(
    around(async (_, act) => {
      seen.push(await serving())
      return act()
    }),
  )
  const result = await moving(two.clock, () => takeOver(deps)(aContext('take'), takeOverPayload(two.snapshot)), 5_000)
  expect(result).toMatchObject({ outcome: 'restored', error: null })
  expect(seen.length).toBeGreaterThan(20)
  for (const { here, there, recorded } of seen) {
    expect(here).not.toBe('stored')
    if (there === 'stored') expect(recorded).toBe(true)
  }
  expect((await serving()).there).toBe('stored')
})
