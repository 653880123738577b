import type { Course } from './course.ts'

// The ways by which a box changes hosts, and a drill. Before a commit everything can be taken back; the order is the promise:
// nobody writes to a box between its last snapshot and the hand-over, and no client reaches a new one before it is proven.

export type HandOverStep = 'ready' | 'fence' | 'stop' | 'snapshot' | 'keep' | 'settle' | 'restart' | 'open'

/** The old host: what was written last is in the snapshot, because the fence stands and Synapse is stopped from before it. */
export const handOverCourse: Course<HandOverStep> = {
  there: ['ready', 'fence', 'stop', 'snapshot', 'keep'],
  after: ['settle'],
  back: [
    { step: 'restart', takesBack: 'stop' },
    { step: 'open', takesBack: 'fence' },
  ],
}

export type TakeOverStep = 'fetch' | 'images' | 'files' | 'fill' | 'start' | 'probe' | 'keep' | 'open' | 'tidy' | 'clear'

/** The new host: fenced until it is proven and its own, so that nothing a client was promised can be lost by clearing it away. */
export const takeOverCourse: Course<TakeOverStep> = {
  there: ['fetch', 'images', 'files', 'fill', 'start', 'probe', 'keep'],
  after: ['open', 'tidy'],
  back: [{ step: 'clear', takesBack: 'fetch' }],
}

export type TakeBackStep = 'start' | 'probe' | 'keep' | 'open' | 'rest'

/** The old host again. One that does not prove healthy rests as before. */
export const takeBackCourse: Course<TakeBackStep> = {
  there: ['start', 'probe', 'keep'],
  after: ['open'],
  back: [{ step: 'rest', takesBack: 'start' }],
}

export type DrillStep = 'fetch' | 'images' | 'files' | 'fill' | 'start' | 'prove' | 'clear'

/** Cleared away on every way, whether it was proven or not. */
export const drillCourse: Course<DrillStep> = {
  there: ['fetch', 'images', 'files', 'fill', 'start', 'prove'],
  after: ['clear'],
  back: [{ step: 'clear', takesBack: 'fetch' }],
}
