import type { Request, RequestHandler, Response } from 'express'
import type { EndpointShape } from '../../core/contract/index.ts'
import type { Actor, Clock } from '../../core/kit/index.ts'
import { knownForMs } from './keep-standing.ts'

type Deps = Readonly<{ clock: Clock; identify(request: Request): Promise<Actor | undefined>; refuseUnable(response: Response): void }>

/**
 * A call may be held for the sake of its tenant's budget, and its body may come as slowly as its sender likes: whoever lost their session or a role
 * meanwhile does nothing any more. A call that waited for nothing is not asked twice.
 */
export function stillStanding({ auth, body }: EndpointShape, { clock, identify, refuseUnable }: Deps): RequestHandler[] {
  if (auth.kind !== 'platform' && !(auth.kind === 'admin' && body)) return []
  const again: RequestHandler = async (request, response, next) => {
    response.locals.actor = await identify(request)
    refuseUnable(response)
    next()
  }
  return [
    (request, response, next) =>
      clock.monotonicMs() - response.locals.identifiedAtMs > knownForMs ? again(request, response, next) : next(),
  ]
}
