import { isProblem } from '../../core/kit/index.ts'
import type { CommandContext } from '../ports/index.ts'
import type { MoveDeps } from './deps.ts'

type Asking = Readonly<{ deps: Pick<MoveDeps, 'clock'>; context: Pick<CommandContext, 'progress'> }>

const askAgainMs = 5_000

/**
 * Asks the daemon until it answers or the signal aborts: while it is away nobody knows whose a box is. The one that waits for the answer is
 * fenced, and its old host rests as well, so waiting harms less than guessing. Throws what is an answer, LEASE_LOST above all.
 */
export async function untilAnswered({ deps, context }: Asking, ask: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await ask()
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!mayPass(error)) throw error
      context.progress({ step: 'waiting', detail: `whether the box is still to come here: ${(error as Error).message}`.slice(0, 300) })
      await deps.clock.sleep(askAgainMs, signal)
      signal.throwIfAborted()
    }
  }
}

/** An agent that has just started is told CONFLICT until its hello was heard. */
const mayPass = (error: unknown): boolean => isProblem(error) && (error.retryable || error.code === 'CONFLICT')
