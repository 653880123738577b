// Rebuilds a box from one of its snapshots in a project of its own: renders its files from this host's box template, pulls its images, makes
// and fills its volumes, loads the database and compares row counts, starts its servers. Used by drills and by the host that takes a box over.
// From the snapshot come data, listed secrets and listed settings; its files may be of a compromised host.
// It never touches a running box, and never decides who may reach the new one or when it is healthy.

export type { RebuildDeps } from './fetched-snapshot.ts'
export { type FetchedFiles, fetchedSnapshot, whileVerified } from './fetched-snapshot.ts'
export { type PortableBox, portableProbe, readPortableBox } from './portable-box.ts'
export {
  fillProject,
  fillVolumes,
  pullFormerImages,
  startDatabase,
  startProject,
  templateVolumes,
  watchfulServers,
} from './rebuild-from-snapshot.ts'
export { renderPortableBox } from './render-portable-box.ts'
