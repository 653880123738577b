import fc from 'fast-check'
import { expect } from 'vitest'
import { isOver } from '../../src/core/rollouts/index.ts'
import { abortRollout, pauseRollout, resumeRollback, resumeRollout, startRollout, stopRollback } from '../../src/daemon/rollouts/testing.ts'
import { anOperator } from './boxes-world.ts'
import { emptyDatabase } from './databases.ts'
import { aSubject, expectSound, expectSoundStory, isRunning, type RolloutModel, type RolloutSubject, refusalOf } from './rollout-model.ts'
import { type Fate, rolloutWorld } from './rollout-world.ts'

/** A phase with more boxes than may be in flight, and two phases after it. */
const modelFleet = Array.from({ length: 8 }, (_, nth) => ({
  slug: `box-${nth}`,
  host: `host-${2 + (nth % 5)}`,
  plan: nth > 5 ? ('pro' as const) : ('light' as const),
  canary: nth < 4,
}))

/** Runs random operations in a database of its own each time; checks the invariants after each one and at the end. */
export const whateverHappens = (happenings: readonly fc.Arbitrary<Happening>[], failureThresholds: readonly number[]): Promise<void> =>
  fc.assert(
    fc.asyncProperty(
      fc.commands([...happenings], { maxCommands: 120, size: 'max' }),
      fc.constantFrom(...failureThresholds),
      async (commands, failureThreshold) => {
        const { db } = await emptyDatabase('sqlite')
        try {
          const world = await rolloutWorld(db, modelFleet)
          const subject = await aSubject(world, failureThreshold)
          await startRollout(world.deps, anOperator, { id: subject.id })
          await fc.asyncModelRun(async () => ({ model: { status: await subject.statusOf() }, real: subject }), commands)
          await expectSoundStory(subject)
        } finally {
          await db.destroy()
        }
      },
    ),
    { numRuns: 25 },
  )

export type Happening = fc.AsyncCommand<RolloutModel, RolloutSubject>

/** The invariants, checked after each operation. */
export const happening = (name: string, run: (model: RolloutModel, subject: RolloutSubject) => Promise<unknown>): Happening => ({
  check: () => true,
  run: async (model, subject) => {
    await run(model, subject)
    await expectSound(model, subject)
  },
  toString: () => name,
})

/** An operator's verb other than a rollback: where it is not allowed it changes nothing, and a finished rollout allows none. */
const verb = (name: string, leadsTo: (status: RolloutModel) => boolean, run: (subject: RolloutSubject) => Promise<unknown>): Happening =>
  happening(name, async (model, subject) => {
    const before = await subject.statusOf()
    const refusal = await refusalOf(() => run(subject))
    const status = await subject.statusOf()
    if (refusal === undefined) expect([name, status, leadsTo({ status })]).toEqual([name, status, true])
    else expect([name, status]).toEqual([name, before])
    if (isOver(before)) expect([name, refusal]).toEqual([name, 'INVALID_TRANSITION'])
    model.status = status
  })

const fates: Fate[] = ['commits', 'pull-fails', 'fails', 'rolls-back', 'rollback-fails', 'lies', 'refuses']
const aFate = fc.constantFrom(...fates, 'commits' as const, 'commits' as const, 'commits' as const, 'commits' as const)
const pick = fc.nat(7)
const steps = ['prefetch', 'stop', 'snapshot', 'probe', 'restore-data'] as const

const start = fc.constant(verb('start', isRunning, ({ world, id }) => startRollout(world.deps, anOperator, { id })))
export const pause = fc.constant(
  verb(
    'pause',
    ({ status }) => status === 'paused',
    ({ world, id }) => pauseRollout(world.deps, anOperator, { id, reason: 'lunch time' }),
  ),
)
export const resume = fc
  .boolean()
  .map((skipFailed) =>
    verb(`resume${skipFailed ? ' without what failed' : ''}`, isRunning, ({ world, id }) =>
      resumeRollout(world.deps, anOperator, { id, skipFailed }),
    ),
  )
const abort = fc.constant(
  verb(
    'abort',
    ({ status }) => status === 'failed',
    ({ world, id }) => abortRollout(world.deps, anOperator, { id }),
  ),
)
const rollBack = fc.constantFrom('none' as const, 'images' as const, 'snapshot' as const).map((mode) =>
  happening(`roll back, boxes ${mode}`, async (model, subject) => {
    const { world, id } = subject
    const before = await subject.statusOf()
    const refusal = await refusalOf(() => world.rollBack(id, mode, { skipRefused: true }))
    const status = await subject.statusOf()
    // A finished rollout keeps its status; only its boxes are rolled back.
    expect(status).toBe(refusal === undefined && !isOver(before) ? 'rolled_back' : before)
    if (isOver(before) && mode === 'none') expect(refusal).toBe('INVALID_TRANSITION')
    model.status = status
  }),
)
export const rollbackOrder = fc
  .constantFrom('resume' as const, 'stop' as const)
  .map((what) =>
    happening(`${what} the rollback`, (_, { world: { deps }, id }) =>
      refusalOf(() =>
        what === 'stop' ? stopRollback(deps, anOperator, { id, reason: 'no more' }) : resumeRollback(deps, anOperator, { id }),
      ),
    ),
  )

export const tick = fc
  .nat(1)
  .map((which) => happening(`replica ${which + 1} looks`, (_, { replicas, world }) => replicas[which]!.tick(world.signal)))
export const together = fc.constant(
  happening('both replicas look', (_, { replicas, world }) => Promise.all(replicas.map((replica) => replica.tick(world.signal)))),
)
export const killed = fc
  .integer({ min: 1, max: 90 })
  .map((after) => happening(`a replica is killed after ${after} steps`, (_, { tickMortally }) => tickMortally(after)))
export const time = fc.constantFrom(3_000, 12_000, 31_000, 70_000).map((ms) =>
  happening(`${ms / 1000} s pass`, async (_, { world }) => {
    await world.clock.advance(ms)
    await world.heartbeat()
  }),
)

type Word = (subject: RolloutSubject) => Promise<unknown>

const words: Readonly<Record<string, Word>> = {
  pause: ({ world, id }) => pauseRollout(world.deps, anOperator, { id, reason: 'lunch time' }),
  resume: ({ world, id }) => resumeRollout(world.deps, anOperator, { id, skipFailed: true }),
  abort: ({ world, id }) => abortRollout(world.deps, anOperator, { id }),
  'roll back': ({ world, id }) => world.rollBack(id, 'images', { skipRefused: true }),
  work: async ({ world, work }) => {
    for (const command of await world.open()) await work(command, 'commits')
  },
  'other replica': async ({ world, replicas }) => {
    await world.clock.advance(31_000)
    await replicas[1]?.tick(world.signal)
  },
}

/** An operator's or agent's call between the decision of a replica and its execution. */
export const meanwhileOf = (said: Readonly<Record<string, Word>>) =>
  fc
    .record({ nth: fc.integer({ min: 1, max: 4 }), what: fc.constantFrom(...Object.keys(said)) })
    .map(({ nth, what }) =>
      happening(`${what}, right before step ${nth} of a replica`, (_, subject) =>
        subject.tickMeanwhile(nth, () => refusalOf(() => (said[what] as Word)(subject))),
      ),
    )
const meanwhile = meanwhileOf(words)

const ofOpen = (
  what: string,
  does: (subject: RolloutSubject, command: Awaited<ReturnType<RolloutSubject['world']['open']>>[number]) => unknown,
) =>
  pick.map((nth) =>
    happening(`${what} ${nth}`, async (_, subject) => {
      const open = await subject.world.open()
      const command = open[nth % Math.max(1, open.length)]
      if (command) await does(subject, command)
    }),
  )
export const work = fc
  .tuple(pick, aFate)
  .chain(([nth, fate]) => ofOpen(`${fate}:`, (subject, command) => subject.work(command, fate)).map((one) => ({ one, nth })))
  .map(({ one }) => one)
export const take = ofOpen('is taken:', (subject, command) => subject.take(command))
export const progress = fc
  .constantFrom(...steps)
  .chain((step) => ofOpen(`tells of ${step}:`, async ({ world }, { id, status }) => status === 'running' && world.tellProgress(id, step)))
export const expire = ofOpen('is given up:', ({ world }, { id }) => world.expire(id))
export const late = aFate.map((fate) =>
  happening(`answers late: ${fate}`, async (_, subject) => {
    const [command] = await subject.world.lost()
    if (command) await subject.answerLate(command, fate)
  }),
)

export const often = <Value>(times: number, value: fc.Arbitrary<Value>) => Array.from({ length: times }, () => value)
export const happenings = [
  ...often(8, tick),
  ...often(2, together),
  ...often(10, work),
  ...often(2, take),
  ...often(6, meanwhile),
  ...[
    start,
    start,
    pause,
    resume,
    resume,
    resume,
    progress,
    expire,
    late,
    late,
    killed,
    killed,
    time,
    time,
    time,
    rollBack,
    rollbackOrder,
    abort,
  ],
]
