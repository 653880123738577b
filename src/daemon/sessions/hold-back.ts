import { type Clock, isProblem } from '../../core/kit/index.ts'
import { refusalDelayMs } from '../../core/sessions/index.ts'

/**
 * Lets a refused login leave only at a full second after it came, so that its time says nothing: a wrong one not of what was wrong, a locked one
 * not of how long the ten before it took. Everything else leaves at once.
 */
export async function holdingBack<Result>(clock: Clock, work: () => Promise<Result>): Promise<Result> {
  const came = clock.monotonicMs()
  try {
    return await work()
  } catch (error) {
    if (isProblem(error, 'LOGIN_FAILED') || isProblem(error, 'ACCOUNT_LOCKED'))
      await clock.sleep(refusalDelayMs(clock.monotonicMs() - came))
    throw error
  }
}
