import { type Clock, isoIn, isProblem, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { closePasswordTurn, longestTurnMs, type PasswordTurn } from './password-turn.ts'

// What is done in a turn: the chat server writes, then the database takes note. Whoever knows what came of the writing goes on until the database
// knows it too, because nobody else can tell, and all others wait meanwhile.

type Deps = Readonly<{ db: DbOrTx; clock: Clock; log: Logger; draining?: AbortSignal | undefined }>

/** A server that did not answer may still write what it was given. */
const settleMs = 10_000
const [stepMs, patienceMs] = [500, 10_000]

/** Does what writes the password; where it fails, that is told, and the turn is over as soon as nothing can come of it any more. */
export async function writing<T>(deps: Deps, turn: PasswordTurn, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const until = isProblem(error) && !isProblem(error, 'HOMESERVER_UNREACHABLE') ? null : isoIn(deps.clock, settleMs)
    const close = () => closePasswordTurn(deps.db, turn, until)
    await close().catch((later) => void goOn(deps, turn, later, close))
    throw error
  }
}

/**
 * Notes what was written, in one transaction that ends the turn. Tries again where the database fails; after ten seconds whoever asked is told that
 * the new password counts, and the trying goes on without them. Throws UNAVAILABLE, and what `note` throws that is a problem.
 */
export async function noting<T>(deps: Deps, turn: PasswordTurn, note: () => Promise<T>): Promise<T> {
  try {
    return await note()
  } catch (error) {
    if (isProblem(error)) throw error
    return await trying(deps, patienceMs, note).catch((later) => {
      if (!isProblem(later)) void goOn(deps, turn, error, note)
      throw writtenUnnoted(error)
    })
  }
}

/** Nobody waits for it: the log says what comes of it. What is a problem is over: the turn had ended, by a commit whose answer was lost. */
async function goOn(deps: Deps, { userId }: PasswordTurn, error: unknown, work: () => Promise<unknown>): Promise<void> {
  const { log } = deps
  log.warn({ err: error, userId }, 'the database does not take what came of setting a password: it is tried again')
  await trying(deps, longestTurnMs, work).catch((later) => {
    if (!isProblem(later))
      log.error({ err: later, userId }, 'the database never took what came of setting a password: look whose it is, and reset it')
  })
}

/** A daemon that ends tries once more and waits no longer: its database is closed, and nobody restarts it while it goes on. */
async function trying<T>({ clock, draining }: Deps, forMs: number, work: () => Promise<T>): Promise<T> {
  for (const begun = clock.monotonicMs(); ; await clock.sleep(stepMs, draining)) {
    try {
      return await work()
    } catch (error) {
      if (isProblem(error) || draining?.aborted || clock.monotonicMs() - begun >= forMs) throw error
    }
  }
}

const writtenUnnoted = (cause: unknown) =>
  problem(
    'UNAVAILABLE',
    'the chat server has the new password, but the database took no note of it: log in with the new one, or set it once more',
    {
      retryAfterSeconds: 10,
      cause,
    },
  )
