import type { HostId } from '../../../core/boxes/index.ts'
import { isoNow, isProblem, plural } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import { type Cron, defineCron } from '../../feature/index.ts'
import { boxById } from '../boxes.repo.ts'
import { readFleet } from '../fleet.ts'
import { assertHostOnline } from '../query-boxes.ts'
import type { LifecycleDeps } from './deps.ts'

import { confirmEventOf } from './end-move.ts'
import { type Move, movesToConfirm, type Removal, removalsToErase } from './procedures.repo.ts'
import { goneHostError } from './remove-box.ts'
import { boxesActor, commandHostOf, stepMove } from './step-move.ts'
import { stepRemoval } from './step-removal.ts'

export const lifecycleJobs = (deps: LifecycleDeps): Cron[] => [
  defineCron({
    key: 'box-removal',
    expression: '20 4 * * *',
    description: 'Erase data of removed boxes and old copies of moved boxes past retention',
    run: async () => `${await eraseExpiredRemovals(deps)}; ${await confirmExpiredMoves(deps)}`,
  }),
]

// Each step reads its removal or move again in its own transaction, because a person may have changed it meanwhile.

/**
 * Erases data of removed boxes past retention; a box on an offline host waits for the next run. Where the last snapshot is gone or damaged, the
 * data on the host may be all that is left: it waits until the snapshot is present again, or until an operator erases it.
 */
async function eraseExpiredRemovals(deps: LifecycleDeps): Promise<string> {
  const due = await removalsToErase(deps.db, isoNow(deps.clock))
  const begun = await countDone(deps, due, eraseIfDue)
  const only: string[] = []
  for (const one of due) if (await isOnlyCopy(deps, deps.db, one)) only.push(one.boxId)
  const kept = only.length === 0 ? '' : `, ${plural(only.length, 'keeps its', 'keep their')} data: no last snapshot is present`
  return `erasing ${begun} of ${plural(due.length, 'removed box', 'removed boxes')}${kept}`
}

/** A box that never became ready has no snapshot, and no data. */
const isOnlyCopy = async (
  { isStored }: LifecycleDeps,
  db: DbOrTx,
  { boxId, snapshotId }: Pick<Removal, 'boxId' | 'snapshotId'>,
): Promise<boolean> => snapshotId !== null && !(await isStored(db, { boxId, snapshotId }))

async function eraseIfDue(deps: LifecycleDeps, tx: Tx, id: string): Promise<HostId | undefined> {
  const [removal] = await removalsToErase(tx, isoNow(deps.clock), id)
  const box = removal && (await boxById(tx, removal.boxId))
  if (!box) return undefined
  const error = await goneHostError(deps, tx, box)
  if (!error) await assertHostOnline(deps, tx, box)
  if (!error && (await isOnlyCopy(deps, tx, removal))) return undefined
  const { keepUntil } = removal
  if (error) await stepRemoval({ deps, tx, box, removal }, { event: 'host_gone', change: { keepUntil: null, error } })
  else await stepRemoval({ deps, tx, box, removal }, { event: 'erase_asked', change: { keepUntil, eraseNow: true } })
  return removal.hostId
}

/**
 * Confirms moves whose old copy is past retention, while the new host is online: of a dead host the old copy may be what is left. Where the
 * snapshot of the move is gone or damaged, it is the only copy beside the box: it waits likewise, or until an operator confirms.
 */
async function confirmExpiredMoves(deps: LifecycleDeps): Promise<string> {
  const due = await movesToConfirm(deps.db, isoNow(deps.clock))
  const confirmed = await countDone(deps, due, confirmIfDue)
  let only = 0
  for (const one of due) if (await isOnlyCopyOfMove(deps, deps.db, one)) only += 1
  const kept = only === 0 ? '' : `, ${plural(only, 'stays', 'stay')}: the snapshot of the move is not present`
  return `deleting ${confirmed} of ${plural(due.length, 'old copy', 'old copies')}${kept}`
}

const isOnlyCopyOfMove = (deps: LifecycleDeps, tx: DbOrTx, { boxId, snapshot }: Move): Promise<boolean> =>
  isOnlyCopy(deps, tx, { boxId, snapshotId: snapshot?.snapshotId ?? null })

async function confirmIfDue(deps: LifecycleDeps, tx: Tx, id: string): Promise<HostId | undefined> {
  const [move] = await movesToConfirm(tx, isoNow(deps.clock), id)
  const box = move && (await boxById(tx, move.boxId))
  if (!box) return undefined
  const fleet = await readFleet(deps, tx)
  if (fleet.host(move.toHostId)?.status !== 'online') return undefined
  const event = confirmEventOf({ move, fleet, nameOf: (host) => fleet.host(host)?.name ?? host })
  if (event === 'confirmed' && (await isOnlyCopyOfMove(deps, tx, move))) return undefined
  return commandHostOf(await stepMove({ deps, tx, box, move }, { event, actor: boxesActor }))
}

type RunIfDue = (deps: LifecycleDeps, tx: Tx, id: string) => Promise<HostId | undefined>

async function countDone(deps: LifecycleDeps, due: readonly { id: string }[], runIfDue: RunIfDue): Promise<number> {
  let done = 0
  for (const { id } of due) {
    const hostId = await deps.db
      .transaction()
      .execute((tx) => runIfDue(deps, tx, id))
      .catch(skipProblems)
    if (hostId === undefined) continue
    deps.bus.queued(hostId)
    done += 1
  }
  return done
}

const skipProblems = (error: unknown): undefined => {
  if (isProblem(error)) return undefined
  throw error
}
