// Simulated hosts: engine, servers of boxes and snapshots behind the same ports as the real ones, over one model in memory.
// Clock and randomness are injected, faults come from a profile; the agent's real code runs against it.
// Never opens a socket and never decides what an update does.
export { type Fault, type FaultProfile, instant, type Latencies, realistic, seededRandom } from './faults.ts'
export { type SimulatedHost, type SimulatedHostOptions, simulatedHost } from './simulated-host.ts'
export type { SimulatedVaults } from './snapshots.ts'
export { type ImageOverrides, simulatedImage } from './world.ts'
