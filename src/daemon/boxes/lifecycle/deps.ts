import type { ProbeRule, ReintroducedVulnerability } from '../../../core/boxes/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { Command } from '../../hosts/index.ts'
import type { BoxRecord } from '../box-record.ts'
import type { SetUpDeps } from '../set-up-box.ts'
import type { MoveSnapshot } from './procedures.repo.ts'

/** Durations of lifecycle procedures. */
export type LifecycleRules = Readonly<{
  probe: ProbeRule
  /** Retention of a removed box's data and of the copy that a move leaves. */
  keepRemovedMs: number
  /** For a hand-over or a take-over, counted from its start on the agent. */
  workMs: number
  /** How long a fence without a known command may last before it is overdue. */
  fenceMaxMs: number
}>

/** Dependencies of the steps of moves and removals. */
export type StepDeps = LifecycleRules & Readonly<{ clock: Clock }>

/** `damaged`: a check or a drill failed, and no better one exists. `reopens`: the vulnerabilities that it reintroduces. */
export type ChosenSnapshot = MoveSnapshot & Readonly<{ damaged?: boolean; reopens?: readonly ReintroducedVulnerability[] }>

export type LifecycleDeps = SetUpDeps &
  LifecycleRules &
  Readonly<{
    firstPort: number
    /** Throws CONFIG when snapshots are not configured. */
    assertSnapshotsConfigured(): unknown
    /** Notifies other features of an abandoned command. */
    onCommandAbandoned(tx: Tx, command: Command): Promise<void>
    /** The newest snapshot of the box's tenant; until the commit it cannot expire and no emergency can begin. */
    newestSnapshot(tx: Tx, box: BoxRecord): Promise<ChosenSnapshot | undefined>
    /** Whether the snapshot is present in its repository, as far as is known. */
    isStored(db: DbOrTx, snapshot: Readonly<{ boxId: string; snapshotId: string }>): Promise<boolean>
  }>

/** Extra time for an agent that is briefly offline. */
export const agentGraceMs = 30 * 60_000
