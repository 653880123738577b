// Hosts that do not exist: engine, boxes and snapshots behind the same ports as the real ones, over one model in memory.
// Time and chance come from outside, faults from a profile; the agent's own code is what runs against it.
// It never opens a socket and never decides what an update should do.
export { type Fault, type FaultProfile, instant, type Latencies, realistic, seededRandom } from './faults.ts'
export { type SimulatedHost, type SimulatedHostOptions, simulatedHost } from './simulated-host.ts'
export type { SimulatedVaults } from './snapshots.ts'
export { type ImageOverrides, simulatedImage } from './world.ts'
