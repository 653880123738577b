// What a snapshot of a box contains (the dump and its manifest, media and objects, files and keys), how it is taken and fetched, and the disk
// space that commands reserve for it. The manifest is written last with the checksums of all files, so that a matching one means complete.
// It never fences, stops or starts anything, and never decides when a snapshot is due or may be removed.
export {
  type DiskSpace,
  freeBeside,
  type Holder,
  hostDisk,
  keepRoom,
  needRoom,
  type Part,
  type Roomed,
  type RoomLedger,
  reserveBytes,
  roomForDump,
  roomForSnapshot,
  roomLedger,
  volumeBytes,
} from './disk-space.ts'
export { holdsAll, readManifest, readWholeDump, type TellingManifest } from './dump-manifest.ts'
export { fetchData, fetchDumpAgain, fetchSnapshot, manifestOfFetched, sideBySide } from './fetch-snapshot.ts'
export { fetchRepository, maintainSnapshots, repositoryOnce } from './maintain-snapshots.ts'
export { type SnapshotDeps, snapshot } from './snapshot.ts'
export { clearDump, type DataFolder, dataFolders, dumpFolderOf, takeBoxSnapshot } from './take-box-snapshot.ts'
