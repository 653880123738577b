import type { AgentError } from '../../core/boxes/index.ts'
import { isProblemCode, problem } from '../../core/kit/index.ts'

/** How a command ends whose failures are no results: a failure is an end too, and the daemon gets the same one again. */
export type Ended<Result> = Readonly<{ result: Result }> | Readonly<{ failure: AgentError }>

export function refuseOrAnswer<Result>(ended: Ended<Result>): Result {
  if ('result' in ended) return ended.result
  const { code, message } = ended.failure
  throw problem(isProblemCode(code) ? code : 'INTERNAL', message)
}
