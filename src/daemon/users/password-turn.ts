import { sql } from 'kysely'
import { type Clock, elapsedMs, isoIn, isoNow, type Problem, problem } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'

/**
 * A chat password is written by one at a time, and whoever proved the old one may write only if nobody wrote since: the count goes up when a turn
 * begins and when it ends. What a process that died left open is over once the chat server cannot be at work on it any more.
 */
export type PasswordTurn = Readonly<{ userId: string; turn: number }>

/** Longer than all that is asked of the chat server in a turn can take. */
export const longestTurnMs = 120_000
const [stepMs, patienceMs] = [200, 10_000]

type Deps = Readonly<{ db: DbOrTx; clock: Clock }>

const nobodyWrites = (now: string) => sql<boolean>`(password_turn_until is null or password_turn_until <= ${now})`

/** What to read before the old password is proved; undefined while somebody writes. */
export async function passwordTurnBefore({ db, clock }: Deps, userId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('users')
    .select('password_turn')
    .where('id', '=', userId)
    .where(nobodyWrites(isoNow(clock)))
    .executeTakeFirst()
  return row && Number(row.password_turn)
}

/** `before`: the count of which nobody may have written since. Undefined while somebody else writes, and for a user who is gone. */
export async function takePasswordTurn({ db, clock }: Deps, userId: string, before?: number): Promise<PasswordTurn | undefined> {
  const row = await db
    .updateTable('users')
    .set((of) => ({ password_turn: of('password_turn', '+', 1), password_turn_until: isoIn(clock, longestTurnMs) }))
    .where('id', '=', userId)
    .where(nobodyWrites(isoNow(clock)))
    .$if(before !== undefined, (update) => update.where('password_turn', '=', before as number))
    .returning('password_turn')
    .executeTakeFirst()
  return row && { userId, turn: Number(row.password_turn) }
}

/** False when it took so long that somebody else had a turn meanwhile. */
export const endPasswordTurn = (db: DbOrTx, turn: PasswordTurn): Promise<boolean> => closePasswordTurn(db, turn, null)

/** `until`: nobody else begins before. */
export async function closePasswordTurn(db: DbOrTx, { userId, turn }: PasswordTurn, until: string | null): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ password_turn: turn + 1, password_turn_until: until })
    .where('id', '=', userId)
    .where('password_turn', '=', turn)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Whoever may write over what is there waits for it, but not for longer than a person would. Throws UNAVAILABLE. */
export async function waitForPasswordTurn(deps: Deps, userId: string): Promise<PasswordTurn> {
  for (let waitedMs = 0; waitedMs <= patienceMs; waitedMs += stepMs) {
    const turn = await takePasswordTurn(deps, userId)
    if (turn) return turn
    await deps.clock.sleep(stepMs)
  }
  throw await passwordBeingSet(deps, userId)
}

/**
 * For who has to wait for a turn, or whose proof is of a password that was written over. Most turns last no second, so one comes back after as long as
 * this one has lasted, and when it is over for sure at the latest.
 */
export async function passwordBeingSet({ db, clock }: Deps, userId: string): Promise<Problem> {
  const row = await db.selectFrom('users').select('password_turn_until').where('id', '=', userId).executeTakeFirst()
  const leftMs = row?.password_turn_until ? elapsedMs(isoNow(clock), row.password_turn_until) : 0
  const retryAfterSeconds = Math.max(1, Math.ceil(Math.min(leftMs, longestTurnMs - leftMs) / 1000))
  return problem('UNAVAILABLE', 'the password of this account is set by somebody else in this moment: try again', { retryAfterSeconds })
}
