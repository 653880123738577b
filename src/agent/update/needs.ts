import type { Clock } from '../../core/kit/index.ts'
import type { DiskSpace } from '../backup/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import type { CommandJournal, OnceOnly } from '../journal/index.ts'
import type { BoxInside, ContainerEngine, SnapshotStore } from '../ports/index.ts'

/** What updates stand on. `once` is shared by all executors of an agent: it holds the locks of the boxes. */
export type UpdateNeeds = Readonly<{
  engine: ContainerEngine
  inside: BoxInside
  snapshots: SnapshotStore
  boxes: LocalBoxes
  journal: CommandJournal
  once: OnceOnly
  clock: Clock
  disk: DiskSpace
  /** Dumps lie below it until their update is over; as private as the agent's own files. */
  workFolder: string
  /** Repositories that this host may run, from the agent's own config. */
  allowedImages: readonly string[]
  /** The longest that one try of a step on the way back may take; the default is 6 h. */
  wayBackMs?: number
}>
