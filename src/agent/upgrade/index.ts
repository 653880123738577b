// The rehearsal of an upgrade to another major version of PostgreSQL: copies the database while the box serves, starts the former and the new
// version on the copy without a network, dumps, loads and compares, and throws everything away. It never touches the box itself, and leaves
// nothing behind: what a kill left is removed when the command continues, or at the agent's next start.
export { rehearseUpgrade } from './rehearse.ts'
export { sweepRehearsals, upgradeProjects } from './upgrade-run.ts'
