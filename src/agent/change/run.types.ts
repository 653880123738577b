import type { ProbeRule, Service } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { DiskSpace } from '../backup/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import type { CommandJournal, JournalEntry, OnceOnly, Stopwatch } from '../journal/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, LocalBox, Repository, SnapshotStore } from '../ports/index.ts'

/** A change without its types: what the shared steps use. */
export type ChangeRun = Readonly<{
  deps: ChangeDeps
  context: CommandContext
  payload: Readonly<{ probe: ProbeRule; deadlineMs: number }>
  box: LocalBox
  /** Aborts when the agent drains and, in a forward step, at the deadline. */
  signal: AbortSignal
  elapsedMs: Stopwatch
  entries(): readonly JournalEntry[]
  note(step: string, data: unknown): Promise<void>
  /** The tenant's repository and its password; requested once, stored in memory only. */
  repository(): Promise<Repository>
  /** The folder of this command's dump, and the one that parts of a snapshot are fetched to. */
  dumpFolder: string
  fetchFolder: string
}>

/**
 * Containers as they were started, by id: another id or one more restart means that one died.
 */
export type Baseline = Readonly<Record<string, Readonly<{ service: Service; id: string; restartCount: number; startedAt: string }>>>

/** Dependencies of updates and restores. `once` is shared by all executors of an agent: it holds the locks of the boxes. */
export type ChangeDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  boxes: LocalBoxes
  journal: CommandJournal
  once: OnceOnly
  clock: Clock
  random: Random
  disk: DiskSpace
  /** Dumps are below it until their change is over; as private as the agent's own files. */
  workFolder: string
  /** Repositories that this host may run, from the agent's own config. */
  allowedImages: readonly string[]
  /** Timeout for one try of a rollback step; the default is 6 h. */
  rollbackStepTimeoutMs?: number
  /** Frees the disk space that is reserved for the journal and rollbacks. */
  releaseDiskReserve?: () => Promise<void>
}>
