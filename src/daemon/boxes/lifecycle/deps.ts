import type { ProbeRule, ReintroducedVulnerability } from '../../../core/boxes/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command } from '../../hosts/index.ts'
import type { BoxRecord } from '../box-record.ts'
import type { SetUpDeps } from '../set-up-box.ts'
import type { MoveSnapshot } from './moves.repo.ts'

/** How long things last that happen once a box is not only updated. */
export type LifecycleRules = Readonly<{
  probe: ProbeRule
  /** How long the data of a removed box, or the copy that a move leaves, are kept. */
  keepRemovedMs: number
  /** For a hand-over or a take-over, from the moment its agent begins. */
  workMs: number
  /** How long a fence may stand that is for no known work. */
  fenceMaxMs: number
}>

/** What is needed to go on with what was begun. */
export type StepDeps = LifecycleRules & Readonly<{ clock: Clock }>

/** `damaged`: a check or a drill found it so, and there is no better one. `reopens`: what emergencies closed and the box would have again. */
export type ChosenSnapshot = MoveSnapshot & Readonly<{ damaged?: boolean; reopens?: readonly ReintroducedVulnerability[] }>

export type LifecycleDeps = SetUpDeps &
  LifecycleRules &
  Readonly<{
    firstPort: number
    /** Throws CONFIG. */
    assertSnapshotsConfigured(): unknown
    /** What other rooms have to do when a command that nobody took is given up. */
    givenUp(tx: Tx, command: Command): Promise<void>
    /** Of the box's tenant; it is not given up before the commit, nor does an emergency begin. */
    newestSnapshot(tx: Tx, box: BoxRecord): Promise<ChosenSnapshot | undefined>
  }>

/** Waiting for an agent that is briefly away is not part of the work. */
export const agentGraceMs = 30 * 60_000

/** A hold that only its holder ends. */
export const noExpiry = '9999-12-31T23:59:59.999Z'
