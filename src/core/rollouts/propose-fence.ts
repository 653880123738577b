import { type InstalledVersions, isUnknown, type TierVersions } from '../boxes/index.ts'
import type { PlannedBox } from './plan.ts'
import type { FenceMode, RolloutKind } from './rollout.ts'

/** How a way back by images ended, and the update that it undid; `failed` also where it was refused. */
export type PastRollback = Readonly<{ from: InstalledVersions; to: TierVersions; undo: 'undone' | 'failed' }>

type Pair = Readonly<{ from: InstalledVersions; to: TierVersions }>
type Wanted = Readonly<{ kind: RolloutKind; waysBack: readonly PastRollback[] }>
type Moving = Pick<PlannedBox, 'does' | 'from' | 'to' | 'changes'>

/**
 * Opening chats early is proposed where every box that moves could run its former images again, because others have (SAFETY). Never more than
 * proposed: what turns sick when people are in stays until an operator decides. Undefined where the usual way is best.
 */
export function proposeFenceMode(boxes: readonly Moving[], { kind, waysBack }: Wanted): FenceMode | undefined {
  const proven = provenPairs(waysBack)
  const moving = boxes.filter(({ does }) => does === 'update')
  const isProven = (box: Moving) => goesWholeBack(box) && proven.has(pairOf(box))
  return kind === 'staged' && moving.length > 0 && moving.every(isProven) ? 'until-first-ok' : undefined
}

/** One that failed speaks louder than those that did not. */
function provenPairs(waysBack: readonly PastRollback[]): ReadonlySet<string> {
  const failed = new Set(waysBack.filter(({ undo }) => undo === 'failed').map(pairOf))
  return new Set(waysBack.map(pairOf).filter((pair) => !failed.has(pair)))
}

/** The object store stays where it is on a way back, and versions that nobody knows are not the same ones. */
const goesWholeBack = ({ from, changes }: Moving): boolean => !changes.includes('minio') && !Object.values(from).some(isUnknown)

const pairOf = ({ from, to }: Pair): string =>
  (['migrationsHead', 'postgres', 'synapse', 'minio'] as const).map((component) => `${from[component]} ${to[component]}`).join(', ')
