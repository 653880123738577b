import { isProblem, problem } from '../../core/kit/index.ts'

/** Authenticates the caller. A database failure is not a rejection: it throws UNAVAILABLE, so that the caller retries. */
export async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isProblem(error)) throw error
    throw problem('UNAVAILABLE', 'the caller cannot be authenticated: the database does not answer', { cause: error })
  }
}
