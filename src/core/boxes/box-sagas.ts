import type { EndStep, Saga } from '../saga/index.ts'

// Before its commit each of these can be rolled back completely. The order is the promise: nothing is written to a box between its last
// snapshot and the hand-over, and no client reaches a new box before it is proven.

/** Tried this often, a step that must be done in the end is abandoned and reported. */
const maxTries = 5

const after = <Step extends string>(name: Step): EndStep<Step, unknown> => ({ name, maxTries })
/** Needed only if the step that it compensates was begun. */
const compensates = <Step extends string>(name: Step, step: Step): EndStep<Step, unknown> => ({
  name,
  when: ({ begun }) => begun.has(step),
  maxTries,
})

export type HandOverStep = 'ready' | 'fence' | 'stop' | 'snapshot' | 'keep' | 'settle' | 'restart' | 'open'
/** True in each: what the step made still exists. */
export type HandOverWorld = Readonly<{ fenced: boolean; quiet: boolean }>

/** The old host: the last snapshot is complete, because the fence is up and Synapse stopped before it is taken. */
export const handOverSaga: Saga<HandOverStep, HandOverWorld> = {
  name: 'hand-over',
  steps: [
    { name: 'ready' },
    { name: 'fence', holds: (_, { fenced }) => fenced },
    // A server that was started between two steps may have written: the snapshot is taken again.
    { name: 'stop', holds: (_, { quiet }) => quiet },
    { name: 'snapshot' },
    { name: 'keep' },
  ],
  finish: [after('settle')],
  compensation: [compensates('restart', 'stop'), compensates('open', 'fence')],
}

export type TakeOverStep = 'fetch' | 'images' | 'files' | 'fill' | 'start' | 'probe' | 'keep' | 'open' | 'tidy' | 'clear'

/** The new host: fenced until it is proven and recorded, so that removing it loses nothing a client was promised. */
export const takeOverSaga: Saga<TakeOverStep, unknown> = {
  name: 'take-over',
  steps: [
    { name: 'fetch' },
    { name: 'images' },
    { name: 'files' },
    { name: 'fill' },
    { name: 'start' },
    { name: 'probe' },
    { name: 'keep' },
  ],
  finish: [after('open'), after('tidy')],
  compensation: [compensates('clear', 'fetch')],
}

export type TakeBackStep = 'start' | 'probe' | 'keep' | 'open' | 'rest'

/** The old host again. A box that does not prove healthy is stopped behind its fence as before. */
export const takeBackSaga: Saga<TakeBackStep, unknown> = {
  name: 'take-back',
  steps: [{ name: 'start' }, { name: 'probe' }, { name: 'keep' }],
  finish: [after('open')],
  compensation: [compensates('rest', 'start')],
}

export type DrillStep = 'fetch' | 'images' | 'files' | 'fill' | 'media' | 'start' | 'prove' | 'clear'

/** The copy is removed in any case. */
export const drillSaga: Saga<DrillStep, unknown> = {
  name: 'drill',
  steps: [
    { name: 'fetch' },
    { name: 'images' },
    { name: 'files' },
    { name: 'fill' },
    { name: 'media' },
    { name: 'start' },
    { name: 'prove' },
  ],
  finish: [after('clear')],
  compensation: [compensates('clear', 'fetch')],
}
