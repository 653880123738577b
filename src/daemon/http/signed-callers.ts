import type { RequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/kit/index.ts'
import { networkKey } from '../../core/limits/index.ts'

const knownMs = 10 * 60_000
const maxKnown = 1000

/**
 * The limits of an endpoint whose caller is identified by the signature of its body. They precede the body, so they end for an address with its first
 * valid signature, and apply again after one that is refused: a provider sends thousands of events at the end of a month.
 */
export function limitUnsigned(clock: Pick<Clock, 'monotonicMs'>, limits: readonly RequestHandler[]): RequestHandler[] {
  const knownUntilMs = new LRUCache<string, number>({ max: maxKnown })
  const learn: RequestHandler = (request, response, next) => {
    const address = networkKey(request.ip ?? 'unknown')
    response.locals.isSigned = (knownUntilMs.get(address) ?? 0) > clock.monotonicMs()
    response.once('finish', () => {
      if (response.statusCode < 300) knownUntilMs.set(address, clock.monotonicMs() + knownMs)
      else knownUntilMs.delete(address)
    })
    next()
  }
  const unlessSigned =
    (limit: RequestHandler): RequestHandler =>
    (request, response, next) =>
      response.locals.isSigned ? next() : limit(request, response, next)
  return [learn, ...limits.map(unlessSigned)]
}
