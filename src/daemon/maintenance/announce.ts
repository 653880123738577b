import { isoNow, newId } from '../../core/kit/index.ts'
import { type Beginning, beginningOf, changedBeginning } from '../../core/maintenance/index.ts'
import { calendarsFrom } from '../../core/rollouts/index.ts'
import type { Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { lastDowntimeMs, type RunningRollout, runningRollouts, type UpdateToCome, updatesToCome } from '../rollouts/index.ts'
import type { MaintenanceDeps } from './deps.ts'
import { enqueueMails } from './mail-administrators.ts'
import { changeNotice, insertNotice, type Notice, noticesByAction } from './notices.repo.ts'

/** Announces every update that lies within the lead time, once, and moves the time of those that were announced. */
export async function announceUpdates(deps: MaintenanceDeps, signal: AbortSignal): Promise<void> {
  for (const rollout of await runningRollouts(deps.db)) {
    const updates = await updatesToCome(deps.db, { rollout, windows: deps.windows })
    const notified = await noticesByAction(
      deps.db,
      updates.map(({ actionId }) => actionId),
    )
    const beginning = beginnings(rollout, updates, isoNow(deps.clock))
    for (const update of updates) {
      if (signal.aborted) return
      const [notice, next] = [notified.get(update.actionId), beginning(update)]
      if (notice) await moveNotice(deps, notice, next)
      else if (next && isWithin(deps, next)) await announce(deps, { rollout, update, next })
    }
  }
}

function beginnings(rollout: RunningRollout, updates: readonly UpdateToCome[], now: string) {
  const calendarOf = calendarsFrom(Date.parse(now))
  const phases = [...new Set(updates.map(({ phase }) => phase))]
  return (update: UpdateToCome) => beginningOf({ ...rollout, phases }, update, { now, calendarOf })
}

const isWithin = ({ clock, leadMs }: MaintenanceDeps, { startsAt }: Beginning): boolean =>
  Date.parse(startsAt) - clock.now().getTime() <= leadMs

type NewNotice = Readonly<{ rollout: RunningRollout; update: UpdateToCome; next: Beginning }>

const announce = (deps: MaintenanceDeps, { rollout, update, next }: NewNotice): Promise<void> =>
  deps.db.transaction().execute(async (tx) => {
    const { clock, random } = deps
    const measuredMs = await lastDowntimeMs(tx, update.boxId)
    const isEmergency = rollout.kind === 'emergency_cve'
    const notice: Notice = {
      ...{ id: newId(random, 'mnt'), tenant_id: update.tenantId, action_id: update.actionId },
      ...{ status: 'planned', emergency: isEmergency ? 1 : 0, starts_at: next.startsAt, ends_by: next.endsBy },
      ...{ expected_downtime_ms: measuredMs ?? update.expectedFenceMs, measured: measuredMs === undefined ? 0 : 1 },
      ...{ downtime_ms: null, announced_at: isoNow(clock), ended_at: null },
    }
    if (!(await insertNotice(tx, notice))) return
    await enqueueMails(deps, tx, { notice, kind: 'announced' })
    await publishNotice(deps, tx, notice)
  })

/** The page and the apps show the new time; no one gets a second mail. */
export async function moveNotice(deps: MaintenanceDeps, notice: Notice, next: Beginning | undefined): Promise<void> {
  if (notice.status !== 'planned') return
  const moved = changedBeginning({ startsAt: notice.starts_at, endsBy: notice.ends_by }, isoNow(deps.clock), next)
  if (!moved) return
  await deps.db.transaction().execute(async (tx) => {
    if (await changeNotice(tx, notice, { starts_at: moved.startsAt, ends_by: moved.endsBy })) await publishNotice(deps, tx, notice)
  })
}

export const publishNotice = ({ clock }: MaintenanceDeps, tx: Tx, { id, tenant_id }: Notice): Promise<number> =>
  recordEvent(tx, clock, { tenantId: tenant_id, type: 'maintenance.changed', payload: { maintenanceId: id }, audience: 'tenant' })
