// What the daemon tells of itself: alive, ready, metrics, documentation of its own interface.
export { type Readiness, serviceContract } from './contract.ts'
