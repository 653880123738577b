import type { CommandContext, OnWaiting } from '../ports/index.ts'

/** Shows why a step waits, and the step again once it continues. Without a step it shows only that the wait is over. */
export const reportWaiting =
  ({ progress }: Pick<CommandContext, 'progress'>, step?: string): OnWaiting =>
  (reason) =>
    progress(
      reason === undefined && step !== undefined
        ? { step }
        : { step: 'waiting', detail: reason?.slice(0, 300) ?? 'over: the lock is free' },
    )
