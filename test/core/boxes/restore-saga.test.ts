import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type RestoreWorld as Observed,
  type RestoreFacts,
  type RestoreStep,
  restoreOutcome,
  restoreSaga,
} from '../../../src/core/boxes/index.ts'
import { foldSaga, nextStep, type SagaEntry } from '../../../src/core/saga/index.ts'

type RestoreWorld = Observed & Readonly<{ deadlinePassed: boolean }>
type RestoreEvent = SagaEntry & Readonly<{ step: RestoreStep }>

/** Longer than any pause between two attempts. */
const later = 3_600_000
const decide = (events: readonly RestoreEvent[], { deadlinePassed, ...world }: RestoreWorld) =>
  nextStep(restoreSaga, events, { world, time: { elapsedMs: later, deadlineMs: deadlinePassed ? 1 : null } })
const stepAfter = (events: readonly RestoreEvent[], world: RestoreWorld): RestoreStep | undefined => {
  const next = decide(events, world)
  if ('do' in next) return next.do
  return 'compensate' in next ? next.compensate : undefined
}
const refusalAfter = (events: readonly RestoreEvent[], world: RestoreWorld) => {
  const next = decide(events, world)
  return 'fail' in next ? { step: next.fail, error: next.error, final: next.final } : undefined
}
const factsOf = (events: readonly RestoreEvent[]): RestoreFacts => foldSaga(restoreSaga, events)

const untouched: RestoreWorld = {
  fence: 'absent',
  quarantined: false,
  quiet: false,
  stopped: false,
  compose: 'former',
  deadlinePassed: false,
}
const fenced: RestoreWorld = { ...untouched, fence: 'ours' }
const quiet: RestoreWorld = { ...fenced, quiet: true }
const switched: RestoreWorld = { ...quiet, compose: 'restored' }
const serving: RestoreWorld = { ...fenced, compose: 'restored' }

const did = (...steps: RestoreStep[]): RestoreEvent[] => steps.flatMap((step) => [mark(step, 'intent'), mark(step, 'done')])
const mark = (step: RestoreStep, mark: RestoreEvent['mark']): RestoreEvent => ({
  step,
  mark,
  elapsedMs: 0,
  ...(mark === 'failed' ? { data: { error: { code: 'RESTORE_FAILED', message: `${step} failed` } } } : {}),
})
const failedAt = (step: RestoreStep) => [mark(step, 'intent'), mark(step, 'failed')]

const untilKeep = did('fetch', 'fence', 'stop', 'keep')
const untilLoad = [...untilKeep, ...did('load')]
const untilProbe = [...untilLoad, ...did('switch', 'start', 'probe')]

describe('the next step', () => {
  const rows: [rule: string, events: RestoreEvent[], world: RestoreWorld, next: RestoreStep | undefined][] = [
    ['a restore begins with fetching the snapshot, while the box serves', [], untouched, 'fetch'],
    ['an interrupted step runs again', [...untilKeep, mark('load', 'intent')], quiet, 'load'],
    ['the current data is copied before the snapshot is loaded', did('fetch', 'fence', 'stop'), quiet, 'keep'],
    ['a chat server that runs again is stopped again', untilLoad, fenced, 'stop'],
    ['a copy from before a second stop does not count', [...untilLoad, ...did('stop')], quiet, 'keep'],
    ['a lost fence is raised again, and the following steps run again', [...untilLoad, ...did('fence')], quiet, 'stop'],
    ['the switch follows the load', untilLoad, quiet, 'switch'],
    ['a started box is not stopped again before the probe', [...untilLoad, ...did('switch', 'start')], serving, 'probe'],
    ['the commit follows the probe', untilProbe, serving, 'commit'],
    ['the fence is lifted after the commit', [...untilProbe, ...did('commit')], serving, 'unfence'],
    ['a committed and unfenced restore is finished', [...untilProbe, ...did('commit', 'unfence')], untouched, undefined],
    ['a failure after the commit changes nothing', [...untilProbe, ...did('commit'), ...failedAt('unfence')], serving, 'unfence'],
    ['an incompatible snapshot ends the restore at once', failedAt('fetch'), untouched, undefined],
    ['a failure before the stop only lifts the fence', [...did('fetch'), ...failedAt('fence')], fenced, 'unfence'],
    [
      'after a failed copy the stopped services are started again',
      [...did('fetch', 'fence', 'stop'), ...failedAt('keep')],
      quiet,
      'back-stop',
    ],
    ['a failed load is rolled back', [...untilKeep, ...failedAt('load'), ...did('back-stop')], { ...quiet, stopped: true }, 'back-switch'],
    ['an interrupted rollback continues', [...untilProbe.slice(0, -2), ...failedAt('probe'), ...did('back-stop')], switched, 'back-switch'],
    [
      'the fence is lifted after a rollback that is proven healthy',
      [...untilKeep, ...failedAt('load'), ...did('back-stop', 'back-switch', 'back-start', 'back-probe')],
      fenced,
      'unfence',
    ],
  ]
  test.each(rows)('%s', (_, events, world, next) => {
    expect(stepAfter(events, world)).toBe(next)
  })

  test('a failed probe after a rollback leaves the box fenced and stopped', () => {
    const events = [...untilLoad, ...failedAt('switch'), ...did('back-stop', 'back-switch', 'back-start'), ...failedAt('back-probe')]
    expect(stepAfter(events, fenced)).toBe('back-stop')
    expect(stepAfter(events, untouched)).toBe('fence')
    expect(decide(events, { ...quiet, stopped: true })).toEqual({ done: 'abandoned' })
    expect(restoreOutcome(factsOf(events))).toBe('restore_failed')
  })
})

describe('an obstacle', () => {
  const quarantined: RestoreWorld = { ...untouched, fence: 'other', quarantined: true, quiet: true, stopped: true }
  const rows: [rule: string, events: RestoreEvent[], world: RestoreWorld, expected: object | undefined][] = [
    ['a fence of another action is respected', did('fetch'), { ...untouched, fence: 'other' }, { step: 'fence', final: false }],
    ['the fence of a change that quarantined the box is taken over', did('fetch'), quarantined, undefined],
    [
      'a passed deadline starts the rollback',
      untilProbe,
      { ...serving, deadlinePassed: true },
      { step: 'commit', error: { code: 'COMMAND_EXPIRED' } },
    ],
    ['a passed deadline does not stop the rollback', [...untilKeep, ...failedAt('load')], { ...quiet, deadlinePassed: true }, undefined],
    ['a passed deadline does not revert a commit', [...untilProbe, ...did('commit')], { ...serving, deadlinePassed: true }, undefined],
    ['a compose file changed by hand is not overwritten', untilLoad, { ...quiet, compose: 'other' }, { step: 'switch' }],
    [
      'no rollback once a box that may have served was unfenced by another program',
      [...untilProbe.slice(0, -2), ...failedAt('probe')],
      { ...serving, fence: 'absent' },
      { step: 'back-stop', final: true },
    ],
    ['a lifted fence is no obstacle while only the former data can have served', [...untilKeep, ...failedAt('load')], untouched, undefined],
    [
      'a quarantined box is quarantined again',
      [...untilKeep, ...failedAt('load')],
      { ...quiet, quarantined: true },
      { step: 'back-stop', final: true },
    ],
    ['a quarantined box with an incompatible snapshot stays unchanged', failedAt('fetch'), quarantined, undefined],
  ]
  test.each(rows)('%s', (_, events, world, expected) => {
    const obstacle = refusalAfter(events, world)
    if (expected) expect(obstacle).toMatchObject(expected)
    else expect(obstacle).toBeUndefined()
  })
})

// A model box of a few facts, and model steps with the effects of the real ones. The invariants must hold after any failures and kills.
type Box = {
  world: RestoreWorld
  /** The data that PostgreSQL would serve if started now. */
  mounted: 'former' | 'restored'
  kept: boolean
  loaded: boolean
  healthy: boolean
}
type Fate = 'works' | 'fails' | 'fails after its effect' | 'killed before' | 'killed after' | 'the fence is lifted' | 'somebody starts it'

const effects: Record<RestoreStep, (box: Box) => void> = {
  fetch: () => undefined,
  fence: (box) => set(box, { fence: 'ours' }),
  stop: (box) => {
    set(box, { quiet: true })
    box.kept = false
  },
  keep: (box) => {
    if (!box.world.quiet) throw new Error('kept a box that serves')
    box.kept = true
  },
  load: (box) => {
    if (!box.kept || !box.world.quiet) throw new Error('loaded before the box was kept')
    box.loaded = true
  },
  switch: (box) => {
    if (!box.kept || !box.loaded || box.world.fence !== 'ours') throw new Error('switched too early')
    set(box, { compose: 'restored' })
  },
  start: (box) => {
    box.mounted = box.world.compose === 'restored' ? 'restored' : 'former'
    set(box, { quiet: false, stopped: false })
  },
  probe: (box) => {
    if (box.mounted !== 'restored') throw new Error('probed what was not restored')
  },
  commit: () => undefined,
  'back-stop': (box) => set(box, { quiet: true, stopped: true }),
  'back-switch': (box) => set(box, { compose: 'former' }),
  'back-start': (box) => {
    box.mounted = 'former'
    set(box, { quiet: false, stopped: false })
  },
  'back-probe': (box) => {
    if (box.world.compose !== 'former') throw new Error('serves other data than before')
    box.healthy = true
  },
  unfence: (box) => set(box, { fence: 'absent' }),
}
const set = (box: Box, change: Partial<RestoreWorld>) => {
  box.world = { ...box.world, ...change }
}

type Life = Readonly<{ box: Box; events: RestoreEvent[]; rounds: number; lifted: number | undefined }>

function live(fates: readonly Fate[], deadlineAfter: number, quarantined: boolean): Life {
  const world: RestoreWorld = quarantined ? { ...untouched, fence: 'other', quarantined, quiet: true, stopped: true } : untouched
  const box: Box = { world, mounted: 'former', kept: false, loaded: false, healthy: false }
  const events: RestoreEvent[] = []
  let lifted: number | undefined
  for (let round = 0; round < 250; round++) {
    set(box, { deadlinePassed: round >= deadlineAfter })
    const fate = fates[round] ?? 'works'
    if (fate === 'the fence is lifted' && box.world.fence === 'ours') {
      lifted = events.length
      set(box, { fence: 'absent' })
    }
    if (fate === 'somebody starts it' && box.world.quiet) {
      set(box, { quiet: false, stopped: false })
      if (!events.some(({ step }) => step === 'start')) box.kept = false
    }
    const refusal = refusalAfter(events, box.world)
    if (refusal) {
      events.push({ step: refusal.step, mark: 'failed', elapsedMs: 0, data: refusal })
      continue
    }
    const step = stepAfter(events, box.world)
    if (!step) return { box, events, rounds: round, lifted }
    act(box, events, step, fate)
  }
  throw new Error('it never ended')
}

function act(box: Box, events: RestoreEvent[], step: RestoreStep, fate: Fate): void {
  events.push(mark(step, 'intent'))
  if (fate === 'fails') events.push(mark(step, 'failed'))
  if (fate === 'fails' || fate === 'killed before') return
  effects[step](box)
  if (fate === 'killed after') return
  events.push(mark(step, fate === 'fails after its effect' ? 'failed' : 'done'))
}

const accidents: Fate[] = ['fails', 'fails after its effect', 'killed before', 'killed after', 'the fence is lifted', 'somebody starts it']
const anyFates = fc.array(
  fc.oneof({ weight: 6, arbitrary: fc.constant<Fate>('works') }, { weight: 1, arbitrary: fc.constantFrom<Fate>(...accidents) }),
  { maxLength: 60 },
)

const begins =
  (wanted: RestoreStep) =>
  ({ step, mark }: RestoreEvent): boolean =>
    step === wanted && mark === 'intent'

describe('with any failures and kills', () => {
  const property = (check: (end: Life, quarantined: boolean) => void) =>
    fc.assert(
      fc.property(anyFates, fc.integer({ min: 1, max: 90 }), fc.boolean(), (fates, deadlineAfter, quarantined) => {
        check(live(fates, deadlineAfter, quarantined), quarantined)
      }),
      { numRuns: 2000 },
    )

  test('it ends, and no data is loaded or switched before the current data is copied', () =>
    property(({ rounds }) => expect(rounds).toBeLessThan(200)))

  test('a restored box runs the restored data, without a fence', () =>
    property(({ box, events }) => {
      if (restoreOutcome(factsOf(events)) !== 'restored') return
      expect(box).toMatchObject({ mounted: 'restored', kept: true, world: { fence: 'absent', compose: 'restored' } })
    }))

  test('a failed restore left the box unchanged: serving the former data, or quarantined under its former fence', () =>
    property(({ box, events }, quarantined) => {
      if (restoreOutcome(factsOf(events)) !== 'failed') return
      expect(box.world).toMatchObject(
        quarantined ? { fence: 'other', compose: 'former' } : { fence: 'absent', compose: 'former', quiet: false },
      )
      expect(box.mounted).toBe('former')
      if (events.some(begins('stop'))) expect(box.healthy).toBe(true)
    }))

  test('a box whose rollback failed is fenced, and stopped unless stopping failed repeatedly', () =>
    property(({ box, events }) => {
      const facts = factsOf(events)
      if (restoreOutcome(facts) !== 'restore_failed') return
      if ((facts.failures.fence ?? 0) < 6) expect(box.world.fence).not.toBe('absent')
      if ((facts.failures['back-stop'] ?? 0) < 6) expect(box.world.stopped).toBe(true)
    }))

  test('nothing is rolled back after the commit', () =>
    property(({ events }) => {
      const commit = events.findIndex(({ step, mark }) => step === 'commit' && mark === 'done')
      if (commit >= 0) expect(events.slice(commit).some(({ step }) => step.startsWith('back'))).toBe(false)
    }))

  test('the fence is lifted only after a commit, a proven rollback, or before anything was stopped', () =>
    property(({ events }) => {
      const lifting = events.findIndex(({ step }) => step === 'unfence')
      if (lifting < 0) return
      const before = events.slice(0, lifting)
      const proven = before.some(({ step, mark }) => (step === 'commit' || step === 'back-probe') && mark === 'done')
      expect(proven || !before.some(begins('stop'))).toBe(true)
    }))

  test('once a started box was unfenced by another program, it never returns to the former data', () =>
    property(({ events, lifted }) => {
      if (lifted === undefined) return
      const before = events.slice(0, lifted)
      const started = before.some(({ step, mark }) => step === 'start' && mark === 'done')
      const wentBack = before.some(begins('back-switch'))
      const decided = before.some(({ step, mark }) => step === 'commit' && mark === 'done')
      if (!started || wentBack || decided) return
      expect(events.slice(lifted).some(begins('back-switch'))).toBe(false)
    }))
})
