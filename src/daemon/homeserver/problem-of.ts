import type { Fault } from '../../core/homeserver/index.ts'
import { type Problem, problem } from '../../core/kit/index.ts'

/** 503 with `Retry-After` (spec 7): the chat server is down, fenced or limited. `whose` is the tenant's slug, or `its`. */
export const homeserverProblem = ({ retryAfterSeconds, reason }: Fault, whose: string): Problem =>
  problem('HOMESERVER_UNREACHABLE', `the chat server of ${whose} cannot be used right now (${reason}): try again later`, {
    retryAfterSeconds,
  })
