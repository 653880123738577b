import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { type Problem, problem } from '../kit/index.ts'

/** The name that a fence bears which people put up for their own work. */
export const maintenanceOwner = 'maintenance'

/** A fence that stands, and since when it has stood for too long. */
export const BoxFence = z.object({ holder: z.string().nullable(), since: Timestamp, overdueSince: Timestamp.nullable() })
export type BoxFence = z.infer<typeof BoxFence>

type Fence = Readonly<{ holder: string | null; since: string }>

/**
 * When a fence has stood for too long: after the deadline of the work that it is for, or after `longestMs` where none is known. Never for
 * maintenance: that ends when people end it.
 */
export function fenceDueAt({ holder, since }: Fence, deadlineAt: string | undefined, longestMs: number): string | undefined {
  if (holder === maintenanceOwner) return undefined
  const longest = new Date(Date.parse(since) + longestMs).toISOString()
  return deadlineAt !== undefined && deadlineAt > longest ? deadlineAt : longest
}

/** Somebody acts on a box: `rollout:ro_…`, `move:…`, `removal:…`, `restore:…`, or `maintenance`. */
type Holding = Readonly<{ slug: string; holder: string; until?: string | undefined }>

/** `held by rollout ro_… until … at the latest`. A hold without end has no time that could be told. */
export const holdText = ({ holder, until }: Pick<Holding, 'holder' | 'until'>): string =>
  `held by ${holder.replace(':', ' ')}${until === undefined || until.startsWith('9999') ? '' : ` until ${until} at the latest`}`

/** The refusal of whoever comes second: who has the box, for how long, and what to type. */
export function boxHeld({ slug, holder, until }: Holding): Problem {
  if (holder === maintenanceOwner)
    return problem('BOX_HELD', `the box ${slug} is in maintenance: \`tenantry boxes maintenance off ${slug}\` ends it`)
  const [kind, id = ''] = holder.split(':')
  const look = kind === 'rollout' ? `tenantry rollouts show ${id} --box ${slug}` : `tenantry boxes show ${slug}`
  return problem('BOX_HELD', `the box ${slug} is ${holdText({ holder, until })}: wait for it; \`${look}\` tells how far it is`)
}

/** What a host's journal knows of a command, as far as this question needs it. */
type JournalledCommand = Readonly<{
  commandId: string
  kind: string
  payload: unknown
  entries: readonly Readonly<{ step: string; mark: string; data?: unknown }>[]
  closed: Readonly<{ result: unknown }> | null
}>

type Ended = { outcome?: unknown; error?: unknown; failure?: unknown; result?: unknown } | null

/**
 * Why a box rests behind a fence that nobody lifts any more: its way back failed, or it is proven and only opening it failed. Undefined while
 * the fence may still be needed: its holder works on, ended otherwise, or is not known, or another host has the box. `commands` are the box's.
 */
export function quarantineReason(
  holder: string,
  box: Readonly<{ ownershipEpoch: number; handedOver?: unknown }>,
  commands: readonly JournalledCommand[],
): 'way back' | 'opening' | undefined {
  const ended = commands.flatMap((command) => (command.closed ? [{ ...command, result: command.closed.result as Ended }] : []))
  const own = ended.find(({ commandId }) => commandId === holder)
  const failedToHandOver = own?.kind === 'tenant-box.hand_over' && own.result?.failure !== undefined
  // It may have failed to take back even its record. One that was written later, under another owner, says that the box is not ours.
  if (box.handedOver && !(failedToHandOver && (own.payload as { ownershipEpoch?: unknown }).ownershipEpoch === box.ownershipEpoch))
    return undefined
  if (failedToHandOver) return 'way back'
  // A box that is taken back bears the fence of the hand-over until it is opened.
  if (ended.some(({ kind, result, entries }) => kind === 'tenant-box.take_back' && result?.result && wasToLift(entries, holder)))
    return 'opening'
  const { outcome, error } = own?.result ?? {}
  if (outcome === 'rollback_failed' || outcome === 'restore_failed') return 'way back'
  return own?.kind === 'tenant-box.take_over' && outcome === 'restored' && error ? 'opening' : undefined
}

const wasToLift = (entries: JournalledCommand['entries'], holder: string): boolean =>
  entries.some(({ step, mark, data }) => step === 'start' && mark === 'done' && (data as { holder?: unknown })?.holder === holder)
