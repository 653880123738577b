// A drill: restores a snapshot beside its box on a network without egress, proves that it serves, then removes the copy. Every finding is a
// result. It never touches the box itself, publishes no port, contacts no other system and leaves nothing behind: what a kill left is removed
// when the command continues, or at the agent's next start.
export { drill } from './drill.ts'
export { type DrillDeps, drillProjects, sweepDrills } from './drill-run.ts'
