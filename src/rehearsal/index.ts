// Rehearsals: a staged rollout played through on a copy of the fleet in memory, by the real engine and the real agent code, over hosts that
// do not exist and in time that passes as fast as it is computed. The same seed, fleet and moment give the same result.
// It reads the daemon's database once and never writes to it, speaks to no agent, and decides nothing: it says what would happen.
export { readFleet } from './fleet-copy.ts'
export { rehearse } from './rehearse.ts'
