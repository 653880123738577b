import { type Clock, doubledMs, isProblem, printable, retryUntilDone } from '../../core/kit/index.ts'
import type { SagaError } from '../../core/saga/index.ts'
import type { CommandContext } from '../ports/index.ts'

const pauses = { firstMs: 1_000, maxMs: 60_000 }

type Retried = Readonly<{
  deps: Readonly<{ clock: Clock }>
  context: Pick<CommandContext, 'signal' | 'progress'>
  isOver?: () => boolean
}>

/**
 * Retries until the act succeeds and reports what it waits for. Throws when the agent drains; the command then continues at the next start.
 * Throws the last failure once `isOver`, which most callers never let happen.
 */
export const retry = <Value>(
  { deps: { clock }, context: { signal, progress }, isOver }: Retried,
  what: string,
  act: () => Promise<Value>,
): Promise<Value> =>
  retryUntilDone(clock, act, {
    signal,
    pauseMs: (attempt) => doubledMs(attempt, pauses),
    onFailure: (error) => {
      if (isOver?.()) throw error
      progress({ step: 'waiting', detail: `${what}: ${asSagaError(error).message}`.slice(0, 300) })
    },
  })

/** Adds the present state of the box to a message, before its `fix:`. */
export const withRemark = (message: string, remark: string): string => message.replace(/(?=\. fix: )|$/, () => `; ${remark}`)

/** As a failed step is recorded in the journal. */
export function asSagaError(error: unknown): SagaError {
  const message = printable(error instanceof Error ? error.message : String(error)).slice(0, 500)
  return { code: isProblem(error) ? error.code : 'INTERNAL', message }
}
