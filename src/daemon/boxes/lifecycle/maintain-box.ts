import { type BoxCommandResult, type BoxId, maintenanceOwner, observedText } from '../../../core/boxes/index.ts'
import { type Actor, actorLabel, isoNow, newId, problem } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Tx, type WithTx } from '../../db/index.ts'
import { type Command, enqueueCommand } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import { holdBox, noExpiry, releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox, lockBox } from '../boxes.repo.ts'
import type { BoxTable } from '../boxes.tables.ts'
import { assertHostOnline, assertLive, type QueryDeps } from '../query-boxes.ts'
import type { StepDeps } from './deps.ts'
import { boxesActor } from './step-move.ts'

/** Switching the edge takes no time; this is for a host that is briefly offline. */
const deadlineMs = 10 * 60_000

type Input = Readonly<{ slug: string; on: boolean; reason: string }>

/**
 * Enters or leaves maintenance mode. The box is on hold from this call until the agent has opened it again, so that no rollout begins on it.
 * Throws NOT_FOUND, CONFLICT, BOX_NOT_MANAGED, BOX_HELD, HOST_OFFLINE.
 */
export async function maintainBox(deps: QueryDeps, actor: Actor, { slug, on, reason }: Input): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const commandId = newId(random, 'cmd')
  const { hostId } = await db.transaction().execute(async (tx) => {
    const box = await lockBox(tx, slug)
    await assertMaintainable({ ...deps, tx }, box, on)
    const at = isoNow(clock)
    if (on) await holdBox(tx, clock, { boxId: box.id, holder: maintenanceOwner, until: noExpiry })
    const maintenance = on
      ? { maintenance_by: actorLabel(actor), maintenance_reason: reason, maintenance_since: box.maintenance?.since ?? at }
      : {}
    await changeBox(tx, box, { ...maintenance, maintenance_command: commandId })
    const payload = { slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch, on, reason }
    await enqueueCommand(tx, clock, {
      id: commandId,
      hostId: box.hostId,
      boxId: box.id,
      kind: 'tenant-box.maintenance',
      payload,
      deadlineMs,
    })
    await recordAudit(tx, clock, {
      actor,
      action: on ? 'box.maintenance.on' : 'box.maintenance.off',
      subject: slug,
      data: { reason, commandId },
    })
    return box
  })
  bus.queued(hostId)
  return { commandId }
}

async function assertMaintainable(deps: WithTx<QueryDeps>, box: BoxRecord, on: boolean): Promise<void> {
  const { slug, managed, maintenance } = box
  assertLive(box)
  if (!managed) throw problem('BOX_NOT_MANAGED', observedText(slug))
  if (!on && !maintenance) throw problem('CONFLICT', `box ${slug} is not in maintenance`)
  await assertHostOnline(deps, deps.tx, box)
}

const cleared = {
  maintenance_by: null,
  maintenance_reason: null,
  maintenance_since: null,
  maintenance_command: null,
} satisfies Partial<BoxTable>

/** Stores the result of a maintenance command; one that was replaced meanwhile changes only the report. */
export async function finishMaintenance(deps: WithTx<StepDeps>, command: Command, { report }: BoxCommandResult<'tenant-box.maintenance'>) {
  const { tx } = deps
  const box = await boxById(tx, command.boxId as BoxId)
  if (!box) return
  await applyReport({ tx, clock: deps.clock, box }, report)
  if (box.maintenanceCommand !== command.id) return
  const { on } = command.payload as { on: boolean }
  if (!on && !(await endMaintenance(tx, box))) return
  const payload = { boxId: box.id, slug: box.slug, on }
  await appendEvent(tx, deps.clock, { stream: 'admin', source: 'boxes', eventType: 'box.maintenance', payload })
}

/** Ends maintenance and releases the hold. Returns false when a newer maintenance command exists. */
export async function endMaintenance(tx: Tx, { id, maintenanceCommand: read }: BoxRecord): Promise<boolean> {
  const ended = tx.updateTable('boxes').set(cleared).where('id', '=', id)
  const { numUpdatedRows } = await ended.where('maintenance_command', read === null ? 'is' : '=', read).executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await releaseHold(tx, { boxId: id, holder: maintenanceOwner })
  return true
}

/** Ends maintenance when the box could not be fenced. A box that could not be opened, or whose state is unknown, stays in maintenance. */
export async function failMaintenance({ clock, tx }: WithTx<StepDeps>, command: Command, reported: boolean) {
  const box = await boxById(tx, command.boxId as BoxId)
  const { on } = command.payload as { on: boolean }
  if (!box || box.maintenanceCommand !== command.id || !on || (!reported && command.leaseToken > 0)) return
  if (box.fence?.holder !== maintenanceOwner && !(await endMaintenance(tx, box))) return
  const payload = { boxId: box.id, slug: box.slug, on, error: command.error }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.maintenance_failed', payload })
  await recordAudit(tx, clock, { actor: boxesActor, action: 'box.maintenance.failed', subject: box.slug, data: { error: command.error } })
}
