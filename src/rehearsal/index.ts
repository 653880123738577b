// Rehearsals: simulate a staged rollout on an in-memory copy of the fleet, with the real engine and the real agent code.
// Hosts are simulated and time is virtual. The same seed, fleet and start time give the same result.
// A rehearsal reads the daemon's database once, never writes to it, and contacts no agent.
export { readFleet } from './fleet-copy.ts'
export { rehearse } from './rehearse.ts'
