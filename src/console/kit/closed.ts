import { isProblem } from '../../core/kit/index.ts'

/** Succeeds also for a session that had ended. Throws any other problem: the session may be open still. */
export const closed = (closing: Promise<unknown>): Promise<void> =>
  closing.then(
    () => undefined,
    (error: unknown) => {
      if (!isProblem(error, 'UNAUTHENTICATED')) throw error
    },
  )
