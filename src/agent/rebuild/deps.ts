import type { Clock } from '../../core/kit/index.ts'
import type { BoxServers, ContainerEngine, SnapshotStore } from '../ports/index.ts'

export type ReviveDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  clock: Clock
  /** Repositories that this host may run, from the agent's own config. */
  allowedImages: readonly string[]
}>
