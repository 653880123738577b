import { type Clock, isProblem, printable } from '../../core/kit/index.ts'
import type { SagaError } from '../../core/saga/index.ts'
import type { CommandContext } from '../ports/index.ts'

const [firstPauseMs, maxPauseMs] = [1_000, 60_000]

type Retried = Readonly<{
  deps: Readonly<{ clock: Clock }>
  context: Pick<CommandContext, 'signal' | 'progress'>
  isOver?: () => boolean
}>

/**
 * Retries until the act succeeds and reports what it waits for. Throws when the agent drains; the command then continues at the next start.
 * Throws the last failure once `isOver`, which most callers never let happen.
 */
export async function retry<Value>(
  { deps: { clock }, context: { signal, progress }, isOver }: Retried,
  what: string,
  act: () => Promise<Value>,
) {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    try {
      return await act()
    } catch (error) {
      signal.throwIfAborted()
      if (isOver?.()) throw error
      progress({ step: 'waiting', detail: `${what}: ${asSagaError(error).message}`.slice(0, 300) })
      await clock.sleep(pauseMs, signal)
      signal.throwIfAborted()
    }
  }
}

/** Adds the present state of the box to a message, before its `fix:`. */
export const withRemark = (message: string, remark: string): string => message.replace(/(?=\. fix: )|$/, () => `; ${remark}`)

/** As a failed step is recorded in the journal. */
export function asSagaError(error: unknown): SagaError {
  const message = printable(error instanceof Error ? error.message : String(error)).slice(0, 500)
  return { code: isProblem(error) ? error.code : 'INTERNAL', message }
}
