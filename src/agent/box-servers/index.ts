// What is asked and done inside real boxes: the writing probe, the servers' own versions, dump and load of the database.
// It reaches containers through the engine port and their addresses, types what fails, and decides nothing:
// not whether a probe is good enough, not when a dump is taken.
export { boxServers } from './box-servers.ts'
