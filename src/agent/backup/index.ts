// What every snapshot of a box is made of, whoever asks for it: the dump and its manifest, the folders of media and objects, the files and
// keys of the box; and how all of it comes back to a host. The manifest is written last and holds the sums of all else, so that a snapshot
// that has the right one is whole.
// It never fences, stops or starts anything, and never says when a snapshot is due or which one may go.
export { type DataFolder, dataFolders } from './data-folders.ts'
export {
  type DiskSpace,
  freeBeside,
  hostDisk,
  keepRoom,
  needRoom,
  type Part,
  type Roomed,
  reserveBytes,
  volumeBytes,
} from './disk-space.ts'
export { holdsAll, readManifest, readWholeDump, type TellingManifest } from './dump-manifest.ts'
export { fetchData, fetchDumpAgain, fetchSnapshot, manifestOfFetched } from './fetch-snapshot.ts'
export { fetchRepository, repositoryOnce } from './repository-of-command.ts'
export { roomForDump, roomForSnapshot } from './room-for-snapshot.ts'
export { type Holder, type RoomLedger, roomLedger } from './room-ledger.ts'
export { sideBySide } from './side-by-side.ts'
export { type SnapshotDeps, snapshot } from './snapshot.ts'
export { clearDump, dumpFolderOf, takeBoxSnapshot } from './take-box-snapshot.ts'
export { tendSnapshots } from './tend-snapshots.ts'
