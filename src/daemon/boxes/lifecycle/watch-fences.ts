import { humanTime, quoted } from '../../../core/alerts/index.ts'
import { fenceDueAt } from '../../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../../core/kit/index.ts'
import type { Logger } from '../../../node/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Db, type Tx } from '../../db/index.ts'
import { commandsByIds } from '../../hosts/index.ts'
import type { BoxRecord } from '../box-record.ts'
import { fencedBoxes } from '../boxes.repo.ts'
import { openCommands } from '../in-use.ts'
import { boxesActor } from './step-move.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Pick<Logger, 'warn'>; fenceMaxMs: number }>

/** Marks each overdue fence once and raises an alert (SAFETY). One whose command has failed is overdue at once. */
export async function watchFences(deps: Deps): Promise<void> {
  const { db, log } = deps
  for (const box of await fencedBoxes(db)) {
    if (!(await isOverdue(deps, box))) continue
    const marked = await db.transaction().execute((tx) => mark(deps, tx, box))
    if (marked) log.warn({ slug: box.slug, holder: box.fence?.holder, since: box.fence?.since }, 'fence is overdue')
  }
}

async function isOverdue({ db, clock, fenceMaxMs }: Deps, { id, fence, removal, reportedAt }: BoxRecord): Promise<boolean> {
  if (!fence || fence.overdueSince || removal) return false
  const [holder] = await commandsByIds(db, fence.holder === null ? [] : [fence.holder])
  const open = await openCommands(db, id)
  // A hand-over that could not restart the box leaves it stopped: its deadline is hours away, and no command will lift the fence.
  if (holder?.status === 'failed' && open.length === 0 && (reportedAt ?? '') > (holder.finishedAt ?? '')) return true
  const known = [...(holder ? [holder] : []), ...open].map(({ deadlineAt }) => deadlineAt)
  const dueAt = fenceDueAt(fence, known.toSorted().at(-1), fenceMaxMs)
  return dueAt !== undefined && dueAt <= isoNow(clock)
}

/** Returns false when the fence was lifted or marked meanwhile. */
async function mark({ clock }: Deps, tx: Tx, { id, slug, fence }: BoxRecord): Promise<boolean> {
  if (!fence) return false
  const { numUpdatedRows } = await tx
    .updateTable('boxes')
    .set({ fence_overdue_at: isoNow(clock) })
    .where('id', '=', id)
    .where('fence_since', '=', fence.since)
    .where('fence_overdue_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  const data = { boxId: id, slug, holder: fence.holder, since: fence.since }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.fence_overdue', payload: data })
  await raiseAlert(tx, clock, {
    kind: 'fence_stuck',
    subject: slug,
    title: `${slug} has been in maintenance too long`,
    body:
      `${slug} has been fenced since ${humanTime(fence.since)}, longer than its operation may take, or its operation has failed` +
      `${fence.holder === null ? '' : ` (${quoted(fence.holder, 120)})`}.\n` +
      'Users see a maintenance page. The data is safe; a fence is never lifted without a health proof.',
    command: `tenantry boxes show ${slug}`,
    standing: true,
  })
  await recordAudit(tx, clock, { actor: boxesActor, action: 'box.fence_overdue', subject: slug, data })
  return true
}
