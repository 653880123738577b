import type { HostId } from '../../../core/boxes/index.ts'
import { isoNow, isProblem, plural } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import { type Cron, defineCron } from '../../feature/index.ts'
import { boxById } from '../boxes.repo.ts'
import { readFleet } from '../fleet.ts'
import { assertHostOnline } from '../query-boxes.ts'
import type { LifecycleDeps } from './deps.ts'

import { confirmEventOf } from './end-move.ts'
import { movesToConfirm } from './moves.repo.ts'
import { removalsToErase } from './removals.repo.ts'
import { goneHostError } from './remove-box.ts'
import { boxesActor, commandHostOf, stepMove } from './step-move.ts'
import { stepRemoval } from './step-removal.ts'

/** What nobody asked to keep longer goes. */
export const lifecycleJobs = (deps: LifecycleDeps): Cron[] => [
  defineCron({
    key: 'box-removal',
    expression: '20 4 * * *',
    description: 'Erases the data of removed boxes, and the copies that moves left, once they were kept long enough',
    run: async () => `${await eraseOldRemovals(deps)}; ${await confirmOldMoves(deps)}`,
  }),
]

// What was kept long enough goes. Between the look and the step a person may have decided otherwise: each step is for that very removal or
// move, and only while it is still due.

/** Data of removed boxes. A host that is away is asked another day. */
async function eraseOldRemovals(deps: LifecycleDeps): Promise<string> {
  const due = await removalsToErase(deps.db, isoNow(deps.clock))
  const begun = await countDone(deps, due, eraseIfDue)
  return `${begun} of ${plural(due.length, 'removed box', 'removed boxes')} being erased`
}

async function eraseIfDue(deps: LifecycleDeps, tx: Tx, id: string): Promise<HostId | undefined> {
  const [removal] = await removalsToErase(tx, isoNow(deps.clock), id)
  const box = removal && (await boxById(tx, removal.boxId))
  if (!box) return undefined
  const error = await goneHostError(deps, tx, box)
  if (!error) await assertHostOnline(deps, tx, box)
  const { keepUntil } = removal
  if (error) await stepRemoval(deps, tx, box, removal, { event: 'host_gone', change: { keepUntil: null, error } })
  else await stepRemoval(deps, tx, box, removal, { event: 'erase_asked', change: { keepUntil, eraseNow: true } })
  return removal.hostId
}

/** Copies that moves left: nobody confirmed in time, and nobody objected. */
async function confirmOldMoves(deps: LifecycleDeps): Promise<string> {
  const due = await movesToConfirm(deps.db, isoNow(deps.clock))
  const confirmed = await countDone(deps, due, confirmIfDue)
  return `${confirmed} of ${plural(due.length, 'old copy', 'old copies')} let go`
}

async function confirmIfDue(deps: LifecycleDeps, tx: Tx, id: string): Promise<HostId | undefined> {
  const [move] = await movesToConfirm(tx, isoNow(deps.clock), id)
  const box = move && (await boxById(tx, move.boxId))
  if (!box) return undefined
  const fleet = await readFleet(deps, tx)
  const event = confirmEventOf({ move, fleet, nameOf: (host) => fleet.host(host)?.name ?? host })
  return commandHostOf(await stepMove(deps, tx, box, move, { event, actor: boxesActor }))
}

type IfDue = (deps: LifecycleDeps, tx: Tx, id: string) => Promise<HostId | undefined>

async function countDone(deps: LifecycleDeps, due: readonly { id: string }[], ifDue: IfDue): Promise<number> {
  let done = 0
  for (const { id } of due) {
    const hostId = await deps.db
      .transaction()
      .execute((tx) => ifDue(deps, tx, id))
      .catch(unlessAway)
    if (hostId === undefined) continue
    deps.bus.queued(hostId)
    done += 1
  }
  return done
}

const unlessAway = (error: unknown): undefined => {
  if (isProblem(error)) return undefined
  throw error
}
