// How a box changes hosts or is removed: handed over with a last snapshot, rebuilt from it on another host, taken back, removed; and stopped
// where the daemon says that another host owns it. Every procedure continues after a kill at any point, or rolls back completely.
// Two hosts never serve one box: the old one is fenced and stopped before the snapshot, the new one is fenced until it is proven.
// It never decides which host owns a box, and lifts no fence but its own.
export { disownBox } from './disown-box.ts'
export type { MoveDeps } from './fence-and-stop.ts'
export { handOver } from './hand-over.ts'
export { remove } from './remove.ts'
export { takeBack } from './take-back.ts'
export { takeOver } from './take-over.ts'
