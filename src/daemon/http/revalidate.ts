import type { Request, RequestHandler, Response } from 'express'
import type { EndpointShape } from '../../core/contract/index.ts'
import type { Actor, Clock } from '../../core/kit/index.ts'

type Deps = Readonly<{ clock: Clock; identify(request: Request): Promise<Actor | undefined>; assertCapability(response: Response): void }>

/**
 * Authenticates a delayed call again: the rate limit may hold it and its body may arrive slowly, so the caller may have lost session or role meanwhile.
 * A call without delay is authenticated once.
 */
export function revalidateIdentity({ auth, body }: EndpointShape, { clock, identify, assertCapability }: Deps): RequestHandler[] {
  if (auth.kind !== 'platform' && !(auth.kind === 'admin' && body)) return []
  const again: RequestHandler = async (request, response, next) => {
    response.locals.actor = await identify(request)
    assertCapability(response)
    next()
  }
  return [
    (request, response, next) =>
      clock.monotonicMs() - response.locals.identifiedAtMs > revalidateEveryMs ? again(request, response, next) : next(),
  ]
}

/** Replicas read revocations every 500 ms, so a revoked stream ends within a second. */
export const revalidateEveryMs = 250

/**
 * Checks the caller of a stream or download every 250 ms, mostly from memory, and ends it once the session, token or role has ended or the check fails.
 * A client that still has access reconnects.
 */
export async function revalidateUntilEnd(
  clock: Clock,
  check: () => Promise<unknown>,
  stream: Readonly<{ signal: AbortSignal; end: () => void }>,
) {
  const { signal, end } = stream
  while (!signal.aborted) {
    await clock.sleep(revalidateEveryMs, signal)
    if (signal.aborted) return
    try {
      await check()
    } catch {
      return end()
    }
  }
}
