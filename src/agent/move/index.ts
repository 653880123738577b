// How a box changes hosts or ends: handed over with a last snapshot, made again on another host from it, taken back, removed; and stopped
// where the daemon says that it has another owner. Every way can be gone on with after a kill at any point, or leads all the way back.
// Two hosts never serve one box: the old one is fenced and stopped from before the snapshot, the new one fenced until it is proven.
// It never decides who owns a box, and lifts no fence but its own.

export type { MoveDeps } from './deps.ts'
export { disownBox } from './disown-box.ts'
export { handOver } from './hand-over.ts'
export { remove } from './remove.ts'
export { takeBack } from './take-back.ts'
export { takeOver } from './take-over.ts'
