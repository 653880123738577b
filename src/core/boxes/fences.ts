import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { type Problem, problem } from '../kit/index.ts'
import type { Tier } from './names.ts'

/**
 * When the fence of a box is lifted during its update (SAFETY): `until-stable`: after the slow probes; `until-proven`: after three quick
 * probes, and the slow ones continue with the box open; `none`: the box is never fenced. Data are never restored automatically once users could
 * write.
 */
export const FenceMode = z.enum(['until-stable', 'until-proven', 'none'])
export type FenceMode = z.infer<typeof FenceMode>

/**
 * When an update stores its snapshot: `before` the new version starts, or from a `hot` copy of the database that is made while the box serves,
 * before the commit; only the write-ahead log since the copy is copied while the box is stopped.
 */
export const SnapshotMode = z.enum(['before', 'hot'])
export type SnapshotMode = z.infer<typeof SnapshotMode>

/** A mode in a file or a journal of an earlier build: `alongside`, a third mode, is `hot` now. */
export const StoredSnapshotMode = z.preprocess((mode) => (mode === 'alongside' ? 'hot' : mode), SnapshotMode)

/** The settings of each tier. */
export type TierSnapshots = Readonly<Record<Tier, SnapshotMode>>

/** An update to another major version of PostgreSQL, whose files are incompatible: a copy is dumped and loaded into a new volume. */
const UpgradeOrder = z.object({
  way: z.enum(['dump-load']),
  /** The volume of the former version is kept this long after the update. */
  keepFormerDays: z.number().int().min(1),
})

/** The fence of one update, as the daemon orders it. */
export const FenceOrder = z.object({
  mode: FenceMode,
  /** The newest schema that the former chat server reads; absent where a rollback by images is not proven to keep all data. */
  formerSchema: z.number().int().optional(),
  /** Background updates that may be pending while the former chat server serves the database. */
  harmlessUpdates: z.array(z.string().max(200)).max(500).optional(),
  /** An operator chose the mode: the box is opened also where no rollback by images is proven. */
  isForced: z.boolean().optional(),
  /** Absent: `before`. */
  snapshot: StoredSnapshotMode.optional(),
  /** Limit of a hot copy; absent: the agent's own. */
  copyBytesPerSecond: z.number().int().min(1).optional(),
  /** Why `hot` was requested but is not ordered. */
  snapshotReason: z.string().max(500).optional(),
  /** Only of an update to another major version of PostgreSQL. */
  upgrade: UpgradeOrder.optional(),
})
export type FenceOrder = z.infer<typeof FenceOrder>

/** The owner of a fence and a hold that an operator set for maintenance. */
export const maintenanceOwner = 'maintenance'

/** An active fence, and since when it is overdue. */
export const BoxFence = z.object({ holder: z.string().nullable(), since: Timestamp, overdueSince: Timestamp.nullable() })
export type BoxFence = z.infer<typeof BoxFence>

type Fence = Readonly<{ holder: string | null; since: string }>

/** When a fence becomes overdue: after the deadline of its command, or after `maxMs`, whichever is later. Maintenance is never overdue. */
export function fenceDueAt({ holder, since }: Fence, deadlineAt: string | undefined, maxMs: number): string | undefined {
  if (holder === maintenanceOwner) return undefined
  const latest = new Date(Date.parse(since) + maxMs).toISOString()
  return deadlineAt !== undefined && deadlineAt > latest ? deadlineAt : latest
}

/** A hold on a box. Its owner is `rollout:ro_…`, `move:…`, `removal:…`, `restore:…` or `maintenance`. */
type Hold = Readonly<{ slug: string; holder: string; until?: string | undefined }>

/** `on hold: rollout ro_… (until … at the latest)`; without a time for a hold that does not expire. */
export const holdText = ({ holder, until }: Pick<Hold, 'holder' | 'until'>): string =>
  `on hold: ${holder.replace(':', ' ')}${until === undefined || until.startsWith('9999') ? '' : ` (until ${until} at the latest)`}`

/** The BOX_HELD problem: the owner of the hold, its end, and the next command. */
export function boxHeld({ slug, holder, until }: Hold): Problem {
  if (holder === maintenanceOwner)
    return problem('BOX_HELD', `box ${slug} is in maintenance. fix: \`tenantry boxes maintenance off ${slug}\``)
  const [kind, id = ''] = holder.split(':')
  const show = kind === 'rollout' ? `tenantry rollouts show ${id} --box ${slug}` : `tenantry boxes show ${slug}`
  return problem('BOX_HELD', `box ${slug} is ${holdText({ holder, until })}. fix: wait until it finishes; progress: \`${show}\``)
}

/** The part of a journaled command that decides a quarantine. */
type JournaledCommand = Readonly<{
  commandId: string
  kind: string
  payload: unknown
  entries: readonly Readonly<{ step: string; mark: string; data?: unknown }>[]
  closed: Readonly<{ result: unknown }> | null
}>

type Ended = { outcome?: unknown; error?: unknown; failure?: unknown; result?: unknown } | null

/**
 * Why a box stays fenced although no command will lift the fence: its rollback failed, it is verified and only lifting the fence failed, or
 * its command was lost with the state folder of an agent.
 * Undefined while the fence may still be needed: its owner still runs, ended otherwise or is unknown, or another host has the box.
 */
export function quarantineReason(
  holder: string,
  box: Readonly<{ ownershipEpoch: number; handedOver?: unknown; orphanFence?: string }>,
  commands: readonly JournaledCommand[],
): 'rollback' | 'unfence' | 'lost' | undefined {
  const ended = commands.flatMap((command) => (command.closed ? [{ ...command, result: command.closed.result as Ended }] : []))
  const own = ended.find(({ commandId }) => commandId === holder)
  if (box.orphanFence === holder && !box.handedOver && !commands.some(({ commandId }) => commandId === holder)) return 'lost'
  const failedToHandOver = own?.kind === 'tenant-box.hand_over' && own.result?.failure !== undefined
  // A failed hand-over may leave its record behind. A record of another ownership means that the box is not ours.
  if (box.handedOver && !(failedToHandOver && (own.payload as { ownershipEpoch?: unknown }).ownershipEpoch === box.ownershipEpoch))
    return undefined
  if (failedToHandOver) return 'rollback'
  // A box that is taken back keeps the fence of the hand-over until it is opened.
  if (ended.some(({ kind, result, entries }) => kind === 'tenant-box.take_back' && result?.result && wasToLiftFence(entries, holder)))
    return 'unfence'
  const { outcome, error } = own?.result ?? {}
  if (outcome === 'rollback_failed' || outcome === 'restore_failed') return 'rollback'
  return own?.kind === 'tenant-box.take_over' && outcome === 'restored' && error ? 'unfence' : undefined
}

const wasToLiftFence = (entries: JournaledCommand['entries'], holder: string): boolean =>
  entries.some(({ step, mark, data }) => step === 'start' && mark === 'done' && (data as { holder?: unknown })?.holder === holder)
