import type { Fix, InstalledVersions, ProbeRule, RepositoryReport } from '../../core/boxes/index.ts'
import type { Random } from '../../core/kit/index.ts'
import type { RetentionRule } from '../../core/snapshots/index.ts'
import type { Logger } from '../../node/index.ts'
import type { FleetDeps } from '../boxes/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import type { CommandBus } from '../hosts/index.ts'
import type { maintenanceRepository, SnapshotSettings } from './snapshot-store.ts'

/** A snapshot that somebody may still need, and who; retention never gives it up. Each room that refers to snapshots brings one. */
type SnapshotReferences = (db: DbOrTx, boxIds: readonly string[]) => Promise<readonly Readonly<{ snapshotId: string; neededBy: string }>[]>

/** What is to be done in a repository: full ids, and which looks. */
export type MaintenancePlan = Readonly<{ forget: readonly string[]; prune: boolean; check: 'none' | 'structure' | 'data' }>

/** Looks after a repository that the daemon itself reaches. */
type Tend = (
  repository: ReturnType<typeof maintenanceRepository>,
  tending: MaintenancePlan,
  signal: AbortSignal,
) => Promise<RepositoryReport>

/** All that snapshots need; each verb names what it takes of it. */
export type SnapshotsDeps = FleetDeps &
  Readonly<{
    db: Db
    random: Random
    log: Logger
    bus: CommandBus
    /** This replica, as leases name it. */
    holder: string
    settings: SnapshotSettings
    rule: RetentionRule
    /** For one snapshot, restore or drill, from its beginning. */
    deadlineMs: number
    probe: ProbeRule
    references: readonly SnapshotReferences[]
    /** What emergencies have brought; none begins until the commit. */
    fixes: (tx: Tx) => Promise<readonly Fix[]>
    /** What a box ran before the update of this command; null where nobody knows, or it was none. */
    versionsBefore: (tx: Tx, commandId: string) => Promise<InstalledVersions | null>
    maintain: Tend
  }>
