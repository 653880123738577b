import type { Fix, InstalledVersions, ProbeRule, RepositoryReport, Tier } from '../../core/boxes/index.ts'
import type { Random } from '../../core/kit/index.ts'
import type { RetentionRule } from '../../core/snapshots/index.ts'
import type { Logger } from '../../node/index.ts'
import type { FleetDeps } from '../boxes/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import type { CommandBus } from '../hosts/index.ts'
import type { maintenanceRepository, SnapshotSettings } from './snapshot-store.ts'

/** The snapshots that a feature references, which retention must keep. Each feature that references snapshots provides one. */
type SnapshotReferences = (db: DbOrTx, boxIds: readonly string[]) => Promise<readonly Readonly<{ snapshotId: string; neededBy: string }>[]>

/** The maintenance of one repository: full ids of expired snapshots, prune, and check. */
export type MaintenancePlan = Readonly<{ forget: readonly string[]; prune: boolean; check: 'none' | 'structure' | 'data' }>

/** Maintains a repository that the daemon reaches. */
type Maintain = (
  repository: ReturnType<typeof maintenanceRepository>,
  plan: MaintenancePlan,
  signal: AbortSignal,
) => Promise<RepositoryReport>

/** Dependencies of the feature; each function names the part it uses. */
export type SnapshotsDeps = FleetDeps &
  Readonly<{
    db: Db
    random: Random
    log: Logger
    bus: CommandBus
    /** The name of this replica in leases. */
    owner: string
    settings: SnapshotSettings
    rule: RetentionRule
    archive: Readonly<{ tiers: Readonly<Record<Tier, boolean>>; days: number }>
    /** For one snapshot, restore or drill, counted from its start. */
    deadlineMs: number
    probe: ProbeRule
    references: readonly SnapshotReferences[]
    /** The fixes of emergencies; no emergency begins until the commit. */
    fixes: (tx: Tx) => Promise<readonly Fix[]>
    /** The versions of a box before the update of this command; null where unknown, or where it was no update. */
    versionsBefore: (tx: Tx, commandId: string) => Promise<InstalledVersions | null>
    maintain: Maintain
  }>
