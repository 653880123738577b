import { isoNow } from '../../core/kit/index.ts'
import { type MailKind, outcomeOf } from '../../core/maintenance/index.ts'
import { runningRollouts, standOfUpdates, updatesTakenBack } from '../rollouts/index.ts'
import { moveNotice, publishNotice } from './announce.ts'
import type { MaintenanceDeps } from './deps.ts'
import { enqueueMails } from './mail-administrators.ts'
import { changeNotice, type Notice, noticesByAction, plannedNotices } from './notices.repo.ts'

type Stand = Awaited<ReturnType<typeof standOfUpdates>>[number]

/** Tells how announced updates ended: done, cancelled, or taken back. One whose rollout is paused has no time until it continues. */
export async function updateNotices(deps: MaintenanceDeps, signal: AbortSignal): Promise<void> {
  const running = new Set((await runningRollouts(deps.db)).map(({ id }) => id))
  const planned = await plannedNotices(deps.db)
  const takenBack = [...(await noticesByAction(deps.db, await updatesTakenBack(deps.db))).values()]
  const notices = [...planned, ...takenBack.filter(({ status }) => status === 'done')]
  for (let from = 0; from < notices.length; from += noticesPerQuery) {
    const some = new Map(notices.slice(from, from + noticesPerQuery).map((notice) => [notice.action_id, notice]))
    for (const stand of await standOfUpdates(deps.db, [...some.keys()])) {
      if (signal.aborted) return
      await updateNotice(deps, some.get(stand.actionId) as Notice, { ...stand, isRunning: running.has(stand.rolloutId) })
    }
  }
}

const noticesPerQuery = 500

const mailOf = { done: null, cancelled: 'cancelled', reverted: 'reverted' } as const satisfies Record<string, MailKind | null>

async function updateNotice(deps: MaintenanceDeps, notice: Notice, stand: Stand & Readonly<{ isRunning: boolean }>): Promise<void> {
  const outcome = outcomeOf(stand)
  if (outcome === undefined) return
  // While its rollout runs, a box that waits is given its time by the announcement.
  if (outcome === 'waits') return stand.isRunning && stand.status === 'pending' ? undefined : moveNotice(deps, notice, undefined)
  await deps.db.transaction().execute(async (tx) => {
    const downtime_ms = outcome === 'cancelled' ? null : stand.fencedMs
    const ended_at = stand.finishedAt ?? isoNow(deps.clock)
    if (!(await changeNotice(tx, notice, { status: outcome, downtime_ms, ended_at }))) return
    const kind = mailOf[outcome]
    if (kind !== null) await enqueueMails(deps, tx, { notice, kind })
    await publishNotice(deps, tx, notice)
  })
}
