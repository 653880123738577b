import { type Clock, isProblem } from '../../core/kit/index.ts'
import { holdBackMs } from '../../core/sessions/index.ts'

/** Lets a refused login leave only at a full second after it came, so that its time says nothing; everything else leaves at once. */
export async function holdingBack<Result>(clock: Clock, work: () => Promise<Result>): Promise<Result> {
  const came = clock.monotonicMs()
  try {
    return await work()
  } catch (error) {
    if (isProblem(error, 'LOGIN_FAILED')) await clock.sleep(holdBackMs(clock.monotonicMs() - came))
    throw error
  }
}
