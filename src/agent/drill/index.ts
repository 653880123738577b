// A drill: a snapshot is brought, loaded and started beside its box, on a network without a way out, and proven to serve; then all of it goes.
// Whatever it finds is a result. It never touches the box itself, publishes no port, speaks to nobody outside, and leaves nothing behind:
// what a kill left goes when the command goes on, or at the agent's next start.
export { drill } from './drill.ts'
export { type DrillDeps, drillProjects } from './drill-run.ts'
export { sweepDrills } from './sweep-drills.ts'
