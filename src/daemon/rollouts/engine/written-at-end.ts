import type { Clock } from '../../../core/kit/index.ts'
import { closeAlertsOf, type Resolved } from '../../alerts/index.ts'
import { type BoxHold, holdBoxes, releaseHolds } from '../../boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import { enqueueCommands, type NewCommand } from '../../hosts/index.ts'
import { insertAttempts, type NewAttempt } from '../attempts.repo.ts'

// Several boxes that are due together take and give back their holds, begin their attempts, get their commands and have their alerts closed by one
// statement for all of them at the end of their transaction. A hold that somebody else has, or a command that is another's, then undoes all of it, and each is taken alone.

type Kept = Readonly<{
  held: BoxHold[]
  released: Omit<BoxHold, 'until'>[]
  attempts: NewAttempt[]
  commands: NewCommand[]
  over: Resolved[]
}>

const gathered = new WeakMap<Tx, Kept>()

/** What a transaction of several steps writes at its end; undefined where it takes one alone, which writes at once and hears of it. */
export const keptForEnd = (tx: Tx): Kept | undefined => gathered.get(tx)

export async function writtenAtEnd<Done>(tx: Tx, clock: Clock, work: () => Promise<Done>): Promise<Done> {
  const kept: Kept = { held: [], released: [], attempts: [], commands: [], over: [] }
  gathered.set(tx, kept)
  const done = await work()
  gathered.delete(tx)
  if (kept.held.length > 0) await holdBoxes(tx, clock, kept.held)
  if (kept.released.length > 0) await releaseHolds(tx, kept.released)
  if (kept.attempts.length > 0) await insertAttempts(tx, kept.attempts)
  if (kept.commands.length > 0) await enqueueCommands(tx, clock, kept.commands)
  await closeAlertsOf(tx, clock, kept.over)
  return done
}
