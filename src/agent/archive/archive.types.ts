import type { Clock, Random } from '../../core/kit/index.ts'
import type { DataFolder, DiskSpace } from '../backup/index.ts'
import type { BoxServers, ContainerEngine, HeldLog, LocalBox, SnapshotStore } from '../ports/index.ts'
import type { ArchiveFacts } from './facts.ts'
import type { Server } from './spool.ts'

export type ArchiveDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  disk: Pick<DiskSpace, 'freeBytes'>
  clock: Clock
  random: Random
  /** Spools are below it. */
  folder: string
}>

/** The open archive: the session that keeps the log, and the box as it was seen last. */
export type Opened = Readonly<{
  log: HeldLog
  server: Server
  facts: ArchiveFacts
  data: readonly DataFolder[]
  box: LocalBox
  volume: string
  /** Containers and record of the box; others need a new description. */
  seen: string
}>
