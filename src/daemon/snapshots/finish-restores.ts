import { alertOf, closedByRestore } from '../../core/alerts/index.ts'
import type { AgentError, BoxId, RestoreResult } from '../../core/boxes/index.ts'
import { type Clock, isoNow, type SystemActor } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { releaseHold } from '../boxes/index.ts'
import { appendEvent, type Tx } from '../db/index.ts'
import type { Command, FailureHandlers, ResultHandlers } from '../hosts/index.ts'
import { boxOf, takenBy, takenFacts } from './finish-snapshots.ts'
import { restoreHolder } from './restore-box.ts'
import { cameBack, recordSnapshot } from './snapshots.repo.ts'
import type { BoxRestoreStatus } from './snapshots.tables.ts'

type Deps = Readonly<{ clock: Clock }>
type Told = Readonly<{ snapshotId?: string; durationMs?: number; error: AgentError | null }>

/** A restore is over when its agent said how it ended; the box is free again then, however that was. */
export const restoreResults = (deps: Deps): ResultHandlers => ({
  'tenant-box.restore': async (tx, command, result) => {
    await keepFormer(deps, tx, command, result)
    const { outcome, durationMs, error } = result
    await end(deps, tx, command, outcome, { durationMs, error })
  },
})

/**
 * A restore that its agent took and that nobody heard of since may be under way: the box stays held, for a day at most, and the agent's own word
 * is taken in when it comes.
 */
export const restoreFailures = (deps: Deps): FailureHandlers => ({
  'tenant-box.restore': (tx, command, { told }) => {
    const isKnown = told || command.leaseToken === 0
    return end(deps, tx, command, isKnown ? 'failed' : 'unheard', { error: command.error })
  },
})

/** What a restore replaced is a snapshot of its own. */
async function keepFormer({ clock }: Deps, tx: Tx, command: Command, { preRestore }: RestoreResult): Promise<void> {
  const box = await boxOf(tx, command)
  if (!preRestore || !box) return
  await recordSnapshot(tx, clock, box, { ...takenFacts(preRestore), tier: 'pre-restore', ...takenBy(command) })
}

type Ended = Readonly<{ slug: string; snapshot_id: string }>

/** A box that rests shut is for a person to hear of at once, and not when its fence has stood for hours. */
async function wake({ clock }: Deps, tx: Tx, { slug, snapshot_id: snapshotId }: Ended, status: BoxRestoreStatus, error: Told['error']) {
  if (status === 'restore_failed') await raiseAlert(tx, clock, alertOf.restore_failed({ slug, snapshotId, error }))
  if (status !== 'restored') return
  await closeAlerts(tx, clock, { subject: slug, kinds: ['restore_failed', ...closedByRestore], because: 'the box was restored' })
}

const actor: SystemActor = { kind: 'system', name: 'snapshots' }

async function end({ clock }: Deps, tx: Tx, command: Command, status: BoxRestoreStatus, { durationMs, error }: Told): Promise<void> {
  const ended = await tx
    .updateTable('box_restores')
    .set({
      status,
      ended_at: status === 'unheard' ? null : isoNow(clock),
      duration_ms: durationMs === undefined ? null : Math.round(durationMs),
    })
    .where('command_id', '=', command.id)
    .where('status', 'in', ['open', 'unheard'])
    .returning(['slug', 'tenant_id', 'snapshot_id'])
    .executeTakeFirst()
  if (!ended) return
  const boxId = command.boxId as BoxId
  if (status === 'restored') await cameBack(tx, ended.tenant_id, ended.snapshot_id)
  if (status !== 'unheard') await releaseHold(tx, { boxId, holder: restoreHolder(command.id) })
  const data = { boxId, commandId: command.id, snapshotId: ended.snapshot_id, outcome: status, error }
  const eventType = status === 'restored' ? 'box.restored' : 'box.restore_failed'
  await wake({ clock }, tx, ended, status, error)
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType, payload: { slug: ended.slug, ...data } })
  await recordAudit(tx, clock, { actor, action: eventType, subject: ended.slug, data })
}
