// Work beside requests: runs the loops that features declare, each at its interval, woken before it, or under a lease on one replica.
// It knows no feature; what a round does, and whether doing it twice is safe, the feature decides.
export { type LoopDeps, runLoop, runLoops, runRound } from './run-loops.ts'
