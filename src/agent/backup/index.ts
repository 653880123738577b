// Takes and fetches snapshots of a box (the dump and its manifest, media and objects, files and keys), and reserves disk space for them.
// The manifest is written last with the checksums of all files, so a matching manifest means that the snapshot is complete.
// Never fences, stops or starts anything, and never decides when a snapshot is due or may be removed.
export { assertCounted } from './assert-counted.ts'
export { type DataFolder, dataFolders, type VolumeKeys, volumeKeys } from './data-folders.ts'
export {
  type DiskSpace,
  type DiskUse,
  hostDisk,
  type Reserved,
  reserveBytes,
  reserveDiskSpace,
  restoreReservation,
  type SpaceLedger,
  type SpaceOwner,
  spaceForDump,
  spaceForSnapshot,
  spaceLedger,
  unreservedBytes,
  volumeBytes,
} from './disk-space.ts'
export { type FullManifest, matchesManifest, readManifest, readVerifiedDump } from './dump-manifest.ts'
export { fetchData, fetchDumpAgain, fetchSnapshot, manifestOfFetched } from './fetch-snapshot.ts'
export { fetchRepository, maintainSnapshots, prepareRepository, repositoryOnce } from './maintain-snapshots.ts'
export { reportWaiting } from './report-waiting.ts'
export { runConcurrently } from './run-concurrently.ts'
export { type SnapshotDeps, snapshot } from './snapshot.ts'
export { clearDump, dumpFolderOf, takeBoxSnapshot } from './take-box-snapshot.ts'
