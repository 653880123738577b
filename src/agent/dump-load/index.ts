// The way to another major version of PostgreSQL: a server of the new version beside one of the former version on a copy, a dump and a load
// between the two, and the comparison of both databases. Rehearsals and updates use it. It decides nothing about a box, never touches the
// volume that a box runs on, and leaves all cleaning up to its callers.
export { type Environment, environmentOf, startNext, startServer } from './servers.ts'
export { isRefused, type Transferred, timed, transfer } from './transfer.ts'
