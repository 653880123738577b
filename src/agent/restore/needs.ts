import type { DiskSpace } from '../backup/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import type { GuardedNeeds } from '../guarded/index.ts'
import type { OnceOnly } from '../journal/index.ts'
import type { SnapshotStore } from '../ports/index.ts'

/** What restores stand on. `once` is shared by all executors of an agent: it holds the locks of the boxes. */
export type RestoreNeeds = GuardedNeeds &
  Readonly<{
    snapshots: SnapshotStore
    boxes: LocalBoxes
    once: OnceOnly
    disk: DiskSpace
    /** Repositories that this host may run, from the agent's own config. */
    allowedImages: readonly string[]
  }>
