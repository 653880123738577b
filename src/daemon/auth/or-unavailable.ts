import { isProblem, problem } from '../../core/kit/index.ts'

/** Looks up who is calling. A database that fails is no refusal of theirs: it throws UNAVAILABLE, to be tried again. */
export async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isProblem(error)) throw error
    throw problem('UNAVAILABLE', 'who is calling cannot be checked right now: the database does not answer', { cause: error })
  }
}
