import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  foldUpdate,
  obstacleTo,
  outcomeOf,
  planUpdate,
  type UpdateEvent,
  type UpdateStep,
  type UpdateWorld,
} from '../../../src/core/boxes/index.ts'

const untouched: UpdateWorld = { fence: 'absent', quiet: false, stopped: false, compose: 'former', deadlinePassed: false }
const fenced: UpdateWorld = { ...untouched, fence: 'ours' }
const quiet: UpdateWorld = { ...fenced, quiet: true }

const did = (...steps: UpdateStep[]): UpdateEvent[] => steps.flatMap((step) => [mark(step, 'intent'), mark(step, 'done')])
const mark = (step: UpdateStep, mark: UpdateEvent['mark'], final = false): UpdateEvent => ({
  step,
  mark,
  final,
  ...(mark === 'failed' ? { error: { code: 'UPDATE_FAILED', message: `${step} failed` } } : {}),
})
const failedAt = (step: UpdateStep) => [mark(step, 'intent'), mark(step, 'failed')]

const untilSnapshot = did('prefetch', 'fence', 'stop', 'snapshot')
const untilProbe = [...untilSnapshot, ...did('cold-copy', 'rewrite', 'recreate', 'probe')]
const restored = [...failedAt('probe'), ...did('restore-stop', 'restore-data', 'restore-start', 'restore-probe')]

describe('the next step', () => {
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, next: UpdateStep | undefined][] = [
    ['an update begins with the images', [], untouched, 'prefetch'],
    ['an intent without an outcome is done again', [...did('prefetch'), mark('fence', 'intent')], fenced, 'fence'],
    ['a fence that is gone before anything stopped is raised again', did('prefetch', 'fence'), untouched, 'fence'],
    ['the snapshot follows the stop', did('prefetch', 'fence', 'stop'), quiet, 'snapshot'],
    ['a chat server that runs again is stopped again', untilSnapshot, fenced, 'stop'],
    ['a snapshot from before a second stop does not count', [...untilSnapshot, ...did('stop')], quiet, 'snapshot'],
    ['a copy of the cold database follows the snapshot', untilSnapshot, quiet, 'cold-copy'],
    [
      'nothing is copied once the box may run the target, whatever an older agent left out',
      [...untilSnapshot, ...did('rewrite', 'recreate')],
      fenced,
      'probe',
    ],
    ['the commit follows the probe', untilProbe, fenced, 'commit'],
    ['the fence is lifted after the commit', [...untilProbe, ...did('commit')], fenced, 'unfence'],
    ['a committed update with its fence lifted is over', [...untilProbe, ...did('commit', 'unfence')], untouched, undefined],
    ['a failure after the commit changes nothing', [...untilProbe, ...did('commit'), ...failedAt('unfence')], fenced, 'unfence'],
    ['a failed pull is over at once', failedAt('prefetch'), untouched, undefined],
    ['a failure before the stop only lifts the fence', [...did('prefetch'), ...failedAt('fence')], fenced, 'unfence'],
    [
      'what was stopped for a failed snapshot is started again',
      [...did('prefetch', 'fence', 'stop'), ...failedAt('snapshot')],
      quiet,
      'restore-start',
    ],
    ['a failed rewrite restores no data', [...untilSnapshot, ...failedAt('rewrite')], quiet, 'restore-start'],
    [
      'from the first recreated container on a failure restores',
      [...untilSnapshot, ...did('rewrite'), ...failedAt('recreate')],
      quiet,
      'restore-stop',
    ],
    ['a restore interrupted half-way goes on', [...untilProbe, ...failedAt('probe'), ...did('restore-stop')], quiet, 'restore-data'],
    [
      'a failed restore step is tried again',
      [...untilProbe, ...failedAt('probe'), ...did('restore-stop'), ...failedAt('restore-data')],
      quiet,
      'restore-data',
    ],
    ['the fence is lifted after a restore that proved healthy', [...untilProbe, ...restored], fenced, 'unfence'],
  ]
  test.each(rows)('%s', (_, events, world, next) => {
    expect(planUpdate(foldUpdate(events), world)[0]).toBe(next)
  })

  test('a restore whose probe failed rests fenced and stopped', () => {
    const facts = foldUpdate([
      ...untilProbe,
      ...failedAt('probe'),
      ...did('restore-stop', 'restore-data', 'restore-start'),
      ...failedAt('restore-probe'),
    ])
    expect(planUpdate(facts, fenced)).toEqual(['restore-stop'])
    expect(planUpdate(facts, untouched)).toEqual(['fence', 'restore-stop'])
    expect(planUpdate(facts, { ...quiet, stopped: true })).toEqual([])
    expect(outcomeOf(facts)).toBe('rollback_failed')
  })
})

describe('an obstacle', () => {
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, expected: object | undefined][] = [
    ['a fence of another action is respected', did('prefetch'), { ...untouched, fence: 'other' }, { step: 'fence' }],
    [
      'a passed deadline turns the update round',
      untilProbe,
      { ...fenced, deadlinePassed: true },
      { step: 'commit', error: { code: 'COMMAND_EXPIRED' } },
    ],
    ['a passed deadline does not stop a restore', [...untilProbe, ...failedAt('probe')], { ...fenced, deadlinePassed: true }, undefined],
    ['a passed deadline does not undo a commit', [...untilProbe, ...did('commit')], { ...fenced, deadlinePassed: true }, undefined],
    [
      'a compose file changed by hand is not overwritten',
      [...untilSnapshot, ...did('cold-copy')],
      { ...quiet, compose: 'other' },
      { step: 'rewrite' },
    ],
    [
      'nothing restores once somebody lifted the fence',
      [...untilProbe, ...failedAt('probe')],
      untouched,
      { step: 'restore-stop', final: true },
    ],
    [
      'a lifted fence is no obstacle while nothing was touched',
      [...untilSnapshot, ...failedAt('rewrite')],
      { ...untouched, quiet: true },
      undefined,
    ],
  ]
  test.each(rows)('%s', (_, events, world, expected) => {
    const obstacle = obstacleTo(foldUpdate(events), world)
    if (expected) expect(obstacle).toMatchObject(expected)
    else expect(obstacle).toBeUndefined()
  })
})

// A box of five facts, and steps that do to it what the real ones do. Whatever happens, the invariants must hold.
type Box = {
  world: UpdateWorld
  containers: 'former' | 'target'
  data: 'former' | 'changed' | 'empty'
  snapshot: boolean
  healthy: boolean
}
type Fate = 'works' | 'fails' | 'fails after its effect' | 'killed before' | 'killed after'

const effects: Record<UpdateStep, (box: Box) => void> = {
  prefetch: () => undefined,
  fence: (box) => set(box, { fence: 'ours' }),
  stop: (box) => set(box, { quiet: true }),
  snapshot: (box) => {
    if (!box.world.quiet) throw new Error('a snapshot of a box that serves')
    box.snapshot = true
  },
  'cold-copy': (box) => {
    if (!box.world.quiet || box.containers !== 'former') throw new Error('copied a database that is not the former one at rest')
  },
  rewrite: (box) => set(box, { compose: 'target' }),
  recreate: (box) => {
    if (!box.snapshot || box.world.compose !== 'target') throw new Error('recreated without a snapshot')
    Object.assign(box, { containers: 'target', data: 'changed' })
    set(box, { quiet: false, stopped: false })
  },
  probe: (box) => {
    if (box.world.quiet) throw new Error('probed while it was stopped')
  },
  commit: () => undefined,
  unfence: (box) => set(box, { fence: 'absent' }),
  'restore-stop': (box) => set(box, { quiet: true, stopped: true }),
  'restore-data': (box) => {
    if (!box.snapshot || !box.world.quiet) throw new Error('restored without a snapshot or into a box that serves')
    box.data = 'former'
    set(box, { stopped: false, compose: 'other' })
  },
  'restore-start': (box) => {
    box.containers = 'former'
    set(box, { quiet: false, stopped: false, compose: box.world.compose === 'other' ? 'other' : 'former' })
  },
  'restore-probe': (box) => {
    if (box.data !== 'former') throw new Error('serves other data than before')
    box.healthy = true
  },
}
const set = (box: Box, change: Partial<UpdateWorld>) => {
  box.world = { ...box.world, ...change }
}

function live(fates: readonly Fate[], deadlineAfter: number): { box: Box; events: UpdateEvent[]; rounds: number } {
  const box: Box = { world: untouched, containers: 'former', data: 'former', snapshot: false, healthy: false }
  const events: UpdateEvent[] = []
  for (let round = 0; round < 200; round++) {
    set(box, { deadlinePassed: round >= deadlineAfter })
    const facts = foldUpdate(events)
    const obstacle = obstacleTo(facts, box.world)
    if (obstacle) {
      events.push({ ...obstacle, mark: 'failed' })
      continue
    }
    const step = planUpdate(facts, box.world)[0]
    if (!step) return { box, events, rounds: round }
    act(box, events, step, fates[round] ?? 'works')
  }
  throw new Error('it never ended')
}

function act(box: Box, events: UpdateEvent[], step: UpdateStep, fate: Fate): void {
  events.push(mark(step, 'intent'))
  if (fate === 'fails') events.push(mark(step, 'failed'))
  if (fate === 'fails' || fate === 'killed before') return
  effects[step](box)
  if (fate === 'killed after') return
  events.push(mark(step, fate === 'works' ? 'done' : 'failed'))
}

const anyFates = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant<Fate>('works') },
    { weight: 1, arbitrary: fc.constantFrom<Fate>('fails', 'fails after its effect', 'killed before', 'killed after') },
  ),
  { maxLength: 60 },
)

describe('whatever fails and whoever dies', () => {
  const property = (check: (end: ReturnType<typeof live>) => void) =>
    fc.assert(
      fc.property(anyFates, fc.integer({ min: 1, max: 80 }), (fates, deadlineAfter) => {
        check(live(fates, deadlineAfter))
      }),
      { numRuns: 2000 },
    )

  test('it ends, and no step is done that its predecessors did not allow', () => property(({ rounds }) => expect(rounds).toBeLessThan(150)))

  test('a committed box runs the target, after a snapshot, with its fence lifted', () =>
    property(({ box, events }) => {
      if (outcomeOf(foldUpdate(events)) !== 'committed') return
      expect(box).toMatchObject({ containers: 'target', snapshot: true, world: { fence: 'absent', compose: 'target' } })
    }))

  test('a failed update left containers, data and compose file as they were, and the box serves', () =>
    property(({ box, events }) => {
      if (outcomeOf(foldUpdate(events)) !== 'failed') return
      expect(box).toMatchObject({ containers: 'former', data: 'former', world: { fence: 'absent', compose: 'former', quiet: false } })
    }))

  test('a rolled-back box runs the former version with the former data, proven healthy, with its fence lifted', () =>
    property(({ box, events }) => {
      if (outcomeOf(foldUpdate(events)) !== 'rolled_back') return
      expect(box).toMatchObject({ containers: 'former', data: 'former', healthy: true, world: { fence: 'absent', quiet: false } })
    }))

  test('a box whose way back failed is fenced, and stopped unless even that failed again and again', () =>
    property(({ box, events }) => {
      const facts = foldUpdate(events)
      if (outcomeOf(facts) !== 'rollback_failed') return
      if ((facts.failures.fence ?? 0) < 6) expect(box.world.fence).toBe('ours')
      if ((facts.failures['restore-stop'] ?? 0) < 6) expect(box.world.stopped).toBe(true)
    }))

  test('nothing is restored after the commit', () =>
    property(({ events }) => {
      const commit = events.findIndex(({ step, mark }) => step === 'commit' && mark === 'done')
      if (commit >= 0) expect(events.slice(commit).some(({ step }) => step.startsWith('restore'))).toBe(false)
    }))
})
