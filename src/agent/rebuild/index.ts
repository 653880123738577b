// Rebuilds a box from one of its snapshots in a project of its own: pulls its images, makes and fills its volumes, loads the database and
// compares row counts, starts its servers. Used by drills and by the host that takes a box over.
// It never touches a running box, and never decides who may reach the new one or when it is healthy.

export { fetchedSnapshot, whileVerified } from './fetched-snapshot.ts'
export type { RebuildDeps } from './rebuild-from-snapshot.ts'
export { fillProject, fillVolumes, pullFormerImages, startProject, watchfulServers } from './rebuild-from-snapshot.ts'
