// The archive of a box: bases of its database and the log since then go to its repository, once a minute; and the recovery of any moment of it.
// It keeps log in the database for as long as the agent runs, and never longer. It never stops or changes a box: a recovery makes a snapshot,
// which `restore`, `move` and `drill` use like any other.
export { runArchives } from './archive-loop.ts'
export { boxArchive } from './box-archive.ts'
export { recover } from './recover.ts'
export { recoveryProjects, sweepRecoveries } from './recovery-server.ts'
