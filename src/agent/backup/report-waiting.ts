import type { CommandContext, OnWaiting } from '../ports/index.ts'

/** Shows why a step waits, and the step again once it continues. */
export const reportWaiting =
  ({ progress }: Pick<CommandContext, 'progress'>, step: string): OnWaiting =>
  (reason) =>
    progress(reason === undefined ? { step } : { step: 'waiting', detail: reason.slice(0, 300) })
