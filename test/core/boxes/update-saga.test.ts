import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isLeftOpen,
  isOpened,
  isRolledBackByImages,
  type UpdateWorld as Observed,
  type UpdateFacts,
  type UpdateStep,
  updateOutcome,
  updateSaga,
} from '../../../src/core/boxes/index.ts'
import { foldSaga, nextStep, type SagaEntry } from '../../../src/core/saga/index.ts'

/** Test input of a box: the observed world, the update order and the time. */
type Order = Parameters<typeof updateSaga>[0]
type UpdateWorld = Observed & Readonly<{ order: Order; deadlinePassed: boolean }>
type UpdateEvent = SagaEntry & Readonly<{ step: UpdateStep }>

/** Longer than any pause between two attempts. */
const later = 3_600_000
const decide = (events: readonly UpdateEvent[], { order, deadlinePassed, ...world }: UpdateWorld) =>
  nextStep(updateSaga(order), events, { world, time: { elapsedMs: later, deadlineMs: deadlinePassed ? 1 : null } })
const stepAfter = (events: readonly UpdateEvent[], world: UpdateWorld): UpdateStep | undefined => {
  const next = decide(events, world)
  if ('do' in next) return next.do
  return 'compensate' in next ? next.compensate : undefined
}
const refusalAfter = (events: readonly UpdateEvent[], world: UpdateWorld) => {
  const next = decide(events, world)
  return 'fail' in next ? { step: next.fail, error: next.error, final: next.final } : undefined
}
const stable: Order = { mode: 'until-stable' }
const forced: Order = { mode: 'until-proven', isForced: true }
const proven: Order = { mode: 'until-proven', formerSchema: 94 }

const factsOf = (events: readonly UpdateEvent[], order: Order = stable): UpdateFacts => foldSaga(updateSaga(order), events)

const untouched: UpdateWorld = {
  order: stable,
  fence: 'absent',
  serving: true,
  quiet: false,
  stopped: false,
  compose: 'former',
  deadlinePassed: false,
}
const fenced: UpdateWorld = { ...untouched, fence: 'ours' }
const quiet: UpdateWorld = { ...fenced, quiet: true, serving: false }

const did = (...steps: UpdateStep[]): UpdateEvent[] => steps.flatMap((step) => [mark(step, 'intent'), mark(step, 'done')])
const mark = (step: UpdateStep, mark: UpdateEvent['mark']): UpdateEvent => ({
  step,
  mark,
  elapsedMs: 0,
  ...(mark === 'failed' ? { data: { error: { code: 'UPDATE_FAILED', message: `${step} failed` } } } : {}),
})
const failedAt = (step: UpdateStep) => [mark(step, 'intent'), mark(step, 'failed')]

const back = () => did('restore-stop', 'restore-data', 'restore-start', 'restore-probe')
const untilSnapshot = did('prefetch', 'fence', 'stop', 'snapshot')
const untilProbe = [...untilSnapshot, ...did('cold-copy', 'rewrite', 'recreate', 'probe')]
const restored = [...failedAt('probe'), ...did('restore-stop', 'restore-data', 'restore-start', 'restore-probe')]

describe('the next step', () => {
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, next: UpdateStep | undefined][] = [
    ['an update begins with the images', [], untouched, 'prefetch'],
    ['an interrupted step runs again', [...did('prefetch'), mark('fence', 'intent')], fenced, 'fence'],
    ['a fence lost before the stop is raised again', did('prefetch', 'fence'), untouched, 'fence'],
    ['the snapshot follows the stop', did('prefetch', 'fence', 'stop'), quiet, 'snapshot'],
    ['a chat server that runs again is stopped again', untilSnapshot, fenced, 'stop'],
    ['a snapshot from before a second stop does not count', [...untilSnapshot, ...did('stop')], quiet, 'snapshot'],
    ['a copy of the cold database follows the snapshot', untilSnapshot, quiet, 'cold-copy'],
    [
      'no copy once the box may run the target, even if an older agent skipped it',
      [...untilSnapshot, ...did('rewrite', 'recreate')],
      fenced,
      'probe',
    ],
    ['the commit follows the probe', untilProbe, fenced, 'commit'],
    ['the fence is lifted after the commit', [...untilProbe, ...did('commit')], fenced, 'unfence'],
    ['a committed and unfenced update is finished', [...untilProbe, ...did('commit', 'unfence')], untouched, undefined],
    ['a failure after the commit changes nothing', [...untilProbe, ...did('commit'), ...failedAt('unfence')], fenced, 'unfence'],
    ['a failed pull ends the update at once', failedAt('prefetch'), untouched, undefined],
    ['a failure before the stop only lifts the fence', [...did('prefetch'), ...failedAt('fence')], fenced, 'unfence'],
    [
      'after a failed snapshot the stopped services are started again',
      [...did('prefetch', 'fence', 'stop'), ...failedAt('snapshot')],
      quiet,
      'restore-start',
    ],
    ['a failed rewrite restores no data', [...untilSnapshot, ...failedAt('rewrite')], quiet, 'restore-start'],
    [
      'a failure after the first recreated container restores the data',
      [...untilSnapshot, ...did('rewrite'), ...failedAt('recreate')],
      quiet,
      'restore-stop',
    ],
    ['an interrupted restore continues', [...untilProbe, ...failedAt('probe'), ...did('restore-stop')], quiet, 'restore-data'],
    [
      'a failed restore step is retried',
      [...untilProbe, ...failedAt('probe'), ...did('restore-stop'), ...failedAt('restore-data')],
      quiet,
      'restore-data',
    ],
    ['the fence is lifted after a restore that is proven healthy', [...untilProbe, ...restored], fenced, 'unfence'],
  ]
  test.each(rows)('%s', (_, events, world, next) => {
    expect(stepAfter(events, world)).toBe(next)
  })

  test('a failed probe after a rollback leaves the box fenced and stopped', () => {
    const events = [
      ...untilProbe,
      ...failedAt('probe'),
      ...did('restore-stop', 'restore-data', 'restore-start'),
      ...failedAt('restore-probe'),
    ]
    expect(stepAfter(events, fenced)).toBe('restore-stop')
    expect(stepAfter(events, untouched)).toBe('fence')
    expect(decide(events, { ...quiet, stopped: true })).toEqual({ done: 'abandoned' })
    expect(updateOutcome(factsOf(events))).toBe('rollback_failed')
  })
})

describe('an obstacle', () => {
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, expected: object | undefined][] = [
    ['a fence of another action is respected', did('prefetch'), { ...untouched, fence: 'other' }, { step: 'fence' }],
    [
      'a passed deadline starts the rollback',
      untilProbe,
      { ...fenced, deadlinePassed: true },
      { step: 'commit', error: { code: 'COMMAND_EXPIRED' } },
    ],
    ['a passed deadline does not stop a restore', [...untilProbe, ...failedAt('probe')], { ...fenced, deadlinePassed: true }, undefined],
    ['a passed deadline does not revert a commit', [...untilProbe, ...did('commit')], { ...fenced, deadlinePassed: true }, undefined],
    [
      'a compose file changed by hand is not overwritten',
      [...untilSnapshot, ...did('cold-copy')],
      { ...quiet, compose: 'other' },
      { step: 'rewrite' },
    ],
    [
      'no restore once another program lifted the fence',
      [...untilProbe, ...failedAt('probe')],
      untouched,
      { step: 'restore-stop', final: true },
    ],
    [
      'a lifted fence is no obstacle before the first change',
      [...untilSnapshot, ...failedAt('rewrite')],
      { ...untouched, quiet: true },
      undefined,
    ],
  ]
  test.each(rows)('%s', (_, events, world, expected) => {
    const obstacle = refusalAfter(events, world)
    if (expected) expect(obstacle).toMatchObject(expected)
    else expect(obstacle).toBeUndefined()
  })
})

describe('a fence lifted after the quick probes, by order of an operator', () => {
  const early = (world: UpdateWorld): UpdateWorld => ({ ...world, order: forced })
  const untilRecreated = [...untilSnapshot, ...did('cold-copy', 'rewrite', 'recreate')]
  const untilGood = [...untilRecreated, ...did('quick-probe', 'check-rollback')]
  const opened = [...untilGood, ...did('unfence')]
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, next: UpdateStep | undefined][] = [
    ['requires quick probes', untilRecreated, fenced, 'quick-probe'],
    ['and a check of the rollback', [...untilRecreated, ...did('quick-probe')], fenced, 'check-rollback'],
    ['is lifted after it', untilGood, fenced, 'unfence'],
    ['is lifted by the next process after a kill', [...untilGood, mark('unfence', 'intent')], fenced, 'unfence'],
    ['is retried until it is lifted, without a rollback', [...untilGood, ...failedAt('unfence')], fenced, 'unfence'],
    ['is followed by probes until the box is stable', opened, untouched, 'probe'],
    ['is followed by the commit after them', [...opened, ...did('probe')], untouched, 'commit'],
    ['is lifted even if the deadline passes meanwhile', [...untilGood, mark('unfence', 'intent')], fenced, 'unfence'],
    ['stays without a good probe, and the box is rolled back', [...untilRecreated, ...failedAt('quick-probe')], fenced, 'restore-stop'],
    ['leaves a box that becomes unhealthy unchanged', [...opened, ...failedAt('probe')], untouched, undefined],
    ['is not raised again because of maintenance', opened, { ...untouched, fence: 'other' }, 'probe'],
    [
      'is lifted after the restore of a box without a good probe',
      [...untilRecreated, ...failedAt('quick-probe'), ...back()],
      fenced,
      'unfence',
    ],
  ]
  test.each(rows)('%s', (_, events, world, next) => {
    expect([refusalAfter(events, early(world)), stepAfter(events, early(world))]).toEqual([undefined, next])
  })

  test('marks a box that becomes unhealthy afterwards as failed, and a never healthy one as rolled back', () => {
    expect(updateOutcome(factsOf([...opened, ...failedAt('probe')], forced))).toBe('failed')
    expect(isLeftOpen(factsOf([...opened, ...failedAt('probe')], forced))).toBe(true)
    expect(updateOutcome(factsOf([...untilRecreated, ...failedAt('quick-probe'), ...back(), ...did('unfence')], forced))).toBe(
      'rolled_back',
    )
  })

  test('rolls back at a deadline before the lift, and fails after it', () => {
    const late = early({ ...fenced, deadlinePassed: true })
    expect(refusalAfter(untilGood, late)).toMatchObject({ step: 'quick-probe', error: { code: 'COMMAND_EXPIRED' } })
    const turned = [...untilGood, mark('quick-probe', 'failed')]
    expect([isOpened(turned), stepAfter(turned, late)]).toEqual([false, 'restore-stop'])
    expect(refusalAfter([...untilGood, mark('unfence', 'intent')], late)).toBeUndefined()
    expect(refusalAfter(opened, early({ ...untouched, deadlinePassed: true }))).toMatchObject({ step: 'probe' })
  })
})

describe('a fence lifted after the quick probes, where the rule chose that', () => {
  const auto = (world: UpdateWorld): UpdateWorld => ({ ...world, order: proven })
  const found = (step: UpdateStep, possible: boolean): UpdateEvent[] => [
    mark(step, 'intent'),
    { ...mark(step, 'done'), data: { possible } },
  ]
  const untilGood = [...untilSnapshot, ...did('cold-copy', 'rewrite', 'recreate', 'quick-probe')]
  const possible = [...untilGood, ...found('check-rollback', true)]
  const impossible = [...untilGood, ...found('check-rollback', false)]
  const opened = [...possible, ...did('unfence')]
  const sick = [...opened, ...failedAt('probe')]
  const confirmed = [...sick, ...found('confirm-rollback', true)]
  const back = [...confirmed, ...did('refence', 'restore-stop', 'restore-start')]
  const former: UpdateWorld = { ...fenced, compose: 'former' }
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, next: UpdateStep | undefined][] = [
    ['is lifted where a rollback by images is proven', possible, fenced, 'unfence'],
    ['stays until the box is stable where it is not', impossible, fenced, 'probe'],
    [
      'and needs no further probes where the slow ones were good meanwhile',
      [...untilGood, mark('check-rollback', 'intent'), { ...mark('check-rollback', 'done'), data: { possible: false, isStable: true } }],
      fenced,
      'commit',
    ],
    ['is lifted after the commit then', [...impossible, ...did('probe', 'commit')], fenced, 'unfence'],
    ['a box that stayed fenced is restored with its data', [...impossible, ...failedAt('probe')], fenced, 'restore-stop'],
    ['is followed by the slow probes', opened, untouched, 'probe'],
    ['a process killed while they ran probes again', [...opened, mark('probe', 'intent')], untouched, 'probe'],
    ['a failure of the open box checks the rollback again', sick, untouched, 'confirm-rollback'],
    ['a box that can be rolled back is fenced first', confirmed, untouched, 'refence'],
    ['and that fence is raised again when it is lifted', [...confirmed, ...did('refence')], untouched, 'refence'],
    ['then what is replaced is stopped', [...confirmed, ...did('refence')], fenced, 'restore-stop'],
    ['no data is restored', [...confirmed, ...did('refence', 'restore-stop')], quiet, 'restore-start'],
    ['the former version is proven', back, former, 'restore-probe'],
    ['the fence is lifted after that', [...back, ...did('restore-probe')], former, 'unfence'],
    ['and it is finished', [...back, ...did('restore-probe', 'unfence')], { ...untouched, compose: 'former' }, undefined],
    ['a box that cannot be rolled back is left open', [...sick, ...found('confirm-rollback', false)], untouched, undefined],
  ]
  test.each(rows)('%s', (_, events, world, next) => {
    expect([refusalAfter(events, auto(world)), stepAfter(events, auto(world))]).toEqual([undefined, next])
  })

  test('the outcome says how the box was rolled back', () => {
    const facts = factsOf([...back, ...did('restore-probe', 'unfence')], proven)
    expect([updateOutcome(facts), isRolledBackByImages(facts), isLeftOpen(facts)]).toEqual(['rolled_back', true, false])
    const left = factsOf([...sick, ...found('confirm-rollback', false)], proven)
    expect([updateOutcome(left), isLeftOpen(left)]).toEqual(['failed', true])
    const failed = factsOf([...back, ...failedAt('restore-probe')], proven)
    expect(updateOutcome(failed)).toBe('rollback_failed')
  })
})

describe('a snapshot from a hot copy', () => {
  const hot = (world: UpdateWorld, order: Order = proven): UpdateWorld => ({ ...world, order: { ...order, snapshot: 'hot' } })
  const copy = (skipped?: string): UpdateEvent[] => [
    mark('cold-copy', 'intent'),
    { ...mark('cold-copy', 'done'), data: skipped === undefined ? { copiedMs: 1 } : { skipped } },
  ]
  const untilStopped = did('prefetch', 'hot-copy', 'fence', 'stop')
  const untilCopied = [...untilStopped, ...copy()]
  const untilGood = [...untilCopied, ...did('rewrite', 'recreate', 'quick-probe')]
  const checked: UpdateEvent[] = [mark('check-rollback', 'intent'), { ...mark('check-rollback', 'done'), data: { possible: true } }]
  const opened = [...untilGood, ...checked, ...did('unfence')]
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, next: UpdateStep | undefined][] = [
    ['the copy is completed first', untilStopped, quiet, 'cold-copy'],
    ['the new version starts after the copy', untilCopied, quiet, 'rewrite'],
    ['without a copy the snapshot comes first', [...untilStopped, ...copy('no room')], quiet, 'snapshot'],
    ['and then the new version', [...untilStopped, ...copy('no room'), ...did('snapshot')], quiet, 'rewrite'],
    ['which starts without a second snapshot', [...untilStopped, ...copy('no room'), ...did('snapshot', 'rewrite')], quiet, 'recreate'],
    ['the copy of a box that serves again is completed again', [...untilCopied, ...did('stop')], quiet, 'cold-copy'],
    ['the snapshot is stored once the box is open', opened, untouched, 'snapshot'],
    ['it is taken again after a kill', [...opened, mark('snapshot', 'intent')], untouched, 'snapshot'],
    ['the slow probes follow it', [...opened, ...did('snapshot')], untouched, 'probe'],
    ['then the commit', [...opened, ...did('snapshot', 'probe')], untouched, 'commit'],
    [
      'a box that fails before it is open is restored from the copy',
      [...untilCopied, ...did('rewrite'), ...failedAt('recreate')],
      quiet,
      'restore-stop',
    ],
    [
      'a snapshot that fails with the box open leads to a rollback by images',
      [...opened, ...failedAt('snapshot')],
      untouched,
      'confirm-rollback',
    ],
  ]
  test.each(rows)('%s', (_, events, world, next) => {
    expect([refusalAfter(events, hot(world)), stepAfter(events, hot(world))]).toEqual([undefined, next])
  })

  // Its copy is that of the stopped database, and another one would be of the new version.
  test.each(rows)('%s, also where an agent of a former version began without a hot copy', (_, events, world, next) => {
    const begun = events.filter(({ step }) => step !== 'hot-copy')
    expect([refusalAfter(begun, hot(world)), stepAfter(begun, hot(world))]).toEqual([undefined, next])
  })

  test('a box that stays fenced until it is stable has it stored meanwhile', () => {
    const recreated = [...untilCopied, ...did('rewrite', 'recreate')]
    const stored: UpdateEvent[] = [mark('snapshot', 'intent'), { ...mark('snapshot', 'done'), data: { isStable: true } }]
    const next = (events: UpdateEvent[]) => stepAfter(events, hot({ ...fenced, compose: 'target' }, stable))
    expect(stepAfter(untilStopped, hot(quiet, stable))).toBe('cold-copy')
    expect(next(recreated)).toBe('snapshot')
    expect(next([...recreated, ...stored])).toBe('commit')
    expect(next([...recreated, ...did('snapshot')])).toBe('probe')
    expect(next([...recreated, ...failedAt('snapshot')])).toBe('restore-stop')
  })

  test('without a fence it is stored once the chat server runs', () => {
    const served = [...did('prefetch', 'hot-copy', 'stop'), ...copy(), ...did('rewrite', 'recreate', 'serve')]
    expect(stepAfter(served, hot(untouched, { mode: 'none' }))).toBe('snapshot')
  })
})

describe('an update without a fence', () => {
  const open = (world: UpdateWorld): UpdateWorld => ({ ...world, order: { mode: 'none' }, fence: 'absent' })
  const untilRecreated = did('prefetch', 'stop', 'snapshot', 'cold-copy', 'rewrite', 'recreate')
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, next: UpdateStep | undefined][] = [
    ['still stops the chat server for the snapshot', did('prefetch'), untouched, 'stop'],
    ['takes the snapshot of the stopped box', did('prefetch', 'stop'), quiet, 'snapshot'],
    ['stops it again if another program started it', did('prefetch', 'stop', 'snapshot'), untouched, 'stop'],
    ['starts the chat server in a separate step', untilRecreated, quiet, 'serve'],
    ['continues that step after a kill', [...untilRecreated, mark('serve', 'intent')], quiet, 'serve'],
    ['is probed after it', [...untilRecreated, ...did('serve')], untouched, 'probe'],
    [
      'restarts the stopped services after a failure before the first change',
      [...did('prefetch', 'stop'), ...failedAt('snapshot')],
      quiet,
      'restore-start',
    ],
    [
      'restores after a failure before users used the new version',
      [...did('prefetch', 'stop', 'snapshot', 'cold-copy', 'rewrite'), ...failedAt('recreate')],
      quiet,
      'restore-stop',
    ],
    [
      'leaves the box unchanged after a failure once the chat server was started',
      [...untilRecreated, ...failedAt('serve')],
      untouched,
      undefined,
    ],
    ['leaves a box that fails its probe unchanged', [...untilRecreated, ...did('serve'), ...failedAt('probe')], untouched, undefined],
  ]
  test.each(rows)('%s', (_, events, world, next) => {
    expect([refusalAfter(events, open(world)), stepAfter(events, open(world))]).toEqual([undefined, next])
  })

  test('restores nothing if another program has started the chat server', () => {
    const events = [...did('prefetch', 'stop', 'snapshot', 'cold-copy', 'rewrite'), ...failedAt('recreate')]
    expect(refusalAfter(events, open(untouched))).toMatchObject({ step: 'restore-stop', final: true })
  })
})

describe('a hot copy', () => {
  const hot = (world: UpdateWorld, order: Order = proven): UpdateWorld => ({ ...world, order: { ...order, snapshot: 'hot' } })
  const rows: [rule: string, events: UpdateEvent[], world: UpdateWorld, next: UpdateStep | undefined][] = [
    ['is made after everything that can be refused was refused', did('prefetch'), untouched, 'hot-copy'],
    ['is begun again after a kill', [...did('prefetch'), mark('hot-copy', 'intent')], untouched, 'hot-copy'],
    ['is made before users wait', did('prefetch', 'hot-copy'), untouched, 'fence'],
  ]
  test.each(rows)('%s', (_, events, world, next) => expect(stepAfter(events, hot(world))).toBe(next))

  test('is made before the stop where there is no fence', () =>
    expect(stepAfter(did('prefetch', 'hot-copy'), hot(untouched, { mode: 'none' }))).toBe('stop'))

  test('is made again once its log is not kept any more, until users wait', () => {
    const next = (...steps: UpdateStep[]) => stepAfter(did(...steps), { ...hot(untouched), isLogKept: false })
    expect([next('prefetch', 'hot-copy'), next('prefetch', 'hot-copy', 'fence')]).toEqual(['hot-copy', 'fence'])
    expect(stepAfter(did('prefetch', 'hot-copy', 'fence'), { ...hot(fenced), isLogKept: false })).toBe('stop')
  })
})

// A model box of five facts, and model steps with the effects of the real ones. The invariants must hold after any failures and kills.
type Box = {
  world: UpdateWorld
  containers: 'former' | 'target'
  data: 'former' | 'changed' | 'empty'
  snapshot: boolean
  /** The stopped former database is copied on its host. */
  copy: boolean
  healthy: boolean
  /** Users have used the new version. */
  written: boolean
  /** A rollback by images keeps all data, and was begun. */
  revertible: boolean
  byImages: boolean
  /** There is room for a copy. */
  copies: boolean
}
type Fate = 'works' | 'fails' | 'fails after its effect' | 'killed before' | 'killed after'

const effects: Record<UpdateStep, (box: Box) => void> = {
  prefetch: () => undefined,
  'hot-copy': (box) => {
    if (!box.world.serving || box.world.fence === 'ours') throw new Error('copied while users waited')
  },
  fence: (box) => set(box, { fence: 'ours' }),
  stop: (box) => set(box, { quiet: true, serving: false }),
  snapshot: (box) => {
    if (!box.world.quiet && !box.copy) throw new Error('a snapshot of a box that serves')
    box.snapshot = true
  },
  'cold-copy': (box) => {
    if (!box.world.quiet || box.containers !== 'former') throw new Error('copied a database that is not the former one at rest')
    box.copy = box.copies
  },
  upgrade: (box) => {
    if (!box.world.quiet || !box.copy || box.containers !== 'former') throw new Error('loaded without a copy of the former database')
  },
  rewrite: (box) => set(box, { compose: 'target' }),
  recreate: (box) => {
    if (!isKept(box) || box.world.compose !== 'target') throw new Error('recreated without a snapshot')
    Object.assign(box, { containers: 'target', data: 'changed' })
    set(box, { quiet: false, stopped: false, serving: box.world.order.mode !== 'none' })
  },
  serve: (box) => {
    if (box.containers !== 'target') throw new Error('opened what was not recreated')
    set(box, { serving: true })
  },
  'quick-probe': (box) => probed(box),
  'check-rollback': () => undefined,
  'confirm-rollback': (box) => {
    box.byImages = box.revertible
  },
  refence: (box) => set(box, { fence: 'ours' }),
  probe: (box) => probed(box),
  commit: () => undefined,
  unfence: (box) => set(box, { fence: 'absent' }),
  'restore-stop': (box) => {
    if (box.written && box.world.fence === 'absent') throw new Error('stopped an open box')
    set(box, { quiet: true, stopped: true, serving: false })
  },
  'restore-data': (box) => {
    if (box.written) throw new Error('lost what users wrote')
    if (!isKept(box) || !box.world.quiet) throw new Error('restored without a snapshot or into a box that serves')
    box.data = 'former'
    set(box, { stopped: false, compose: 'other' })
  },
  'restore-start': (box) => {
    box.containers = 'former'
    set(box, { quiet: false, stopped: false, serving: true, compose: box.world.compose === 'other' ? 'other' : 'former' })
  },
  'restore-probe': (box) => {
    if (box.data !== (box.byImages ? 'changed' : 'former')) throw new Error('serves other data than before')
    box.healthy = true
  },
}
/** The former data are in the store or, where the order allows it, in a copy on the host. */
const isKept = ({ snapshot, copy, world: { order } }: Box): boolean => snapshot || (copy && order.snapshot === 'hot')
const probed = (box: Box) => {
  if (!box.world.serving) throw new Error('probed while it was stopped')
}
const set = (box: Box, change: Partial<UpdateWorld>) => {
  box.world = { ...box.world, ...change }
  box.written ||= box.containers === 'target' && box.world.serving && box.world.fence === 'absent'
}

type Kind = Readonly<{ order: Order; revertible: boolean; copies?: boolean }>

function live(
  { order, revertible, copies = true }: Kind,
  fates: readonly Fate[],
  deadlineAfter: number,
): { box: Box; events: UpdateEvent[]; rounds: number } {
  const box: Box = {
    world: { ...untouched, order },
    ...{ containers: 'former', data: 'former', snapshot: false, copy: false, healthy: false, written: false },
    ...{ revertible, byImages: false, copies },
  }
  const events: UpdateEvent[] = []
  for (let round = 0; round < 200; round++) {
    set(box, { deadlinePassed: round >= deadlineAfter })
    const refusal = refusalAfter(events, box.world)
    if (refusal) {
      events.push({ step: refusal.step, mark: 'failed', elapsedMs: 0, data: refusal })
      continue
    }
    const step = stepAfter(events, box.world)
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
  const isCheck = step === 'check-rollback' || step === 'confirm-rollback'
  const found = isCheck
    ? { data: { possible: box.revertible } }
    : step === 'cold-copy'
      ? { data: box.copies ? { copiedMs: 1 } : { skipped: 'no room' } }
      : {}
  events.push({ ...mark(step, fate === 'works' ? 'done' : 'failed'), ...(fate === 'works' ? found : {}) })
}

const anyFates = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant<Fate>('works') },
    { weight: 1, arbitrary: fc.constantFrom<Fate>('fails', 'fails after its effect', 'killed before', 'killed after') },
  ),
  { maxLength: 60 },
)

const orders = {
  'until stable': { order: stable, revertible: false },
  'until proven, where a rollback by images is possible': { order: proven, revertible: true },
  'until proven, where it is not': { order: proven, revertible: false },
  'until proven, by order of an operator': { order: forced, revertible: false },
  never: { order: { mode: 'none' }, revertible: false },
  'never, where a rollback by images is possible': { order: { mode: 'none', formerSchema: 94 }, revertible: true },
  'until stable, with a hot copy': { order: { ...stable, snapshot: 'hot' }, revertible: false },
  'until stable, with a hot copy that is not completed': {
    ...{ order: { ...stable, snapshot: 'hot' }, revertible: false, copies: false },
  },
  'until proven, with a hot copy': { order: { ...proven, snapshot: 'hot' }, revertible: true },
  'until proven, where no rollback by images is possible, with a hot copy': { order: { ...proven, snapshot: 'hot' }, revertible: false },
  'until proven, with a hot copy that is not completed': {
    ...{ order: { ...proven, snapshot: 'hot' }, revertible: true, copies: false },
  },
  'never, with a hot copy': { order: { mode: 'none', snapshot: 'hot' }, revertible: false },
} satisfies Record<string, Kind>

describe.each(Object.entries(orders))('fenced %s, with any failures and kills', (_, kind) => {
  const { order, revertible } = kind
  const property = (check: (end: ReturnType<typeof live>) => void) =>
    fc.assert(
      fc.property(anyFates, fc.integer({ min: 1, max: 80 }), (fates, deadlineAfter) => {
        check(live(kind, fates, deadlineAfter))
      }),
      { numRuns: 1000 },
    )

  test('it ends, and no step runs before its predecessors are done', () => property(({ rounds }) => expect(rounds).toBeLessThan(150)))

  test('a committed box runs the target after a snapshot, without a fence', () =>
    property(({ box, events }) => {
      if (updateOutcome(factsOf(events, order)) !== 'committed') return
      expect(box).toMatchObject({ containers: 'target', snapshot: true, world: { fence: 'absent', compose: 'target' } })
    }))

  test('a failed update left containers, data and compose file unchanged, and the box serves', () =>
    property(({ box, events }) => {
      const facts = factsOf(events, order)
      if (updateOutcome(facts) !== 'failed' || isLeftOpen(facts)) return
      expect(box).toMatchObject({ containers: 'former', data: 'former', world: { fence: 'absent', compose: 'former', quiet: false } })
    }))

  test('a rolled-back box runs the former version with the former data, or by images with all data, proven healthy, without a fence', () =>
    property(({ box, events }) => {
      const facts = factsOf(events, order)
      if (updateOutcome(facts) !== 'rolled_back') return
      const data = isRolledBackByImages(facts) ? 'changed' : 'former'
      expect(box).toMatchObject({ containers: 'former', data, healthy: true, world: { fence: 'absent', quiet: false } })
    }))

  test('a box whose rollback failed is fenced, and stopped unless stopping failed repeatedly', () =>
    property(({ box, events }) => {
      const facts = factsOf(events, order)
      if (updateOutcome(facts) !== 'rollback_failed') return
      if ((facts.failures.fence ?? 0) < 6) expect(box.world.fence).toBe('ours')
      if ((facts.failures['restore-stop'] ?? 0) < 6) expect(box.world.stopped).toBe(true)
    }))

  test('only a failed rollback leaves a fence', () =>
    property(({ box, events }) => {
      if (updateOutcome(factsOf(events, order)) !== 'rollback_failed') expect(box.world.fence).toBe('absent')
    }))

  test('no automatic step restores data once users may have used the new version, and only a rollback by images stops the box', () =>
    property(({ box, events }) => {
      const opened = events.findIndex((_, at) => isOpened(events.slice(0, at + 1)))
      if (opened < 0) return
      expect(order).not.toBe(stable)
      const after = events.slice(opened + 1).map(({ step }) => step)
      expect(after).not.toContain('restore-data')
      const facts = factsOf(events, order)
      if (!isRolledBackByImages(facts))
        expect(after.filter((step) => /^restore|^stop$|fence$/.test(step) && step !== 'unfence')).toEqual([])
      if (isLeftOpen(facts)) expect([revertible, box.byImages]).toEqual([false, false])
    }))

  test('an unverified open box runs the target without a fence, and the journal recorded it before the fence was lifted', () =>
    property(({ box, events }) => {
      if (box.written) expect(events.some((_, at) => isOpened(events.slice(0, at + 1)) || events[at]?.step === 'commit')).toBe(true)
      if (isLeftOpen(factsOf(events, order))) expect(box).toMatchObject({ containers: 'target', world: { fence: 'absent' } })
    }))

  test('a box updated without a fence is fenced only in quarantine', () =>
    property(({ events }) => {
      if (order.mode !== 'none') return
      const fenced = events.some(({ step }) => step === 'fence')
      if (fenced) expect(updateOutcome(factsOf(events, order))).toBe('rollback_failed')
    }))

  test('nothing is restored after the commit', () =>
    property(({ events }) => {
      const commit = events.findIndex(({ step, mark }) => step === 'commit' && mark === 'done')
      if (commit >= 0) expect(events.slice(commit).some(({ step }) => step.startsWith('restore'))).toBe(false)
    }))
})
