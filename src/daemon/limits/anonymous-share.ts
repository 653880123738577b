import type { Request, RequestHandler, Response } from 'express'
import type { Clock } from '../../core/kit/index.ts'
import { type AnonymousClass, anonymousBounds, anonymousClassOf } from '../../core/limits/index.ts'
import { callerOf, workPlaces } from '../http/index.ts'
import type { LimitsMetrics } from './limits-metrics.ts'

type Deps = Readonly<{ clock: Clock; draining: AbortSignal; metrics: LimitsMetrics }>

/** The bound of all callers without a login. Networks are served in rotation, so none keeps another one out. */
export type AnonymousShare = Readonly<{
  /** Delays requests above their share, and refuses them if too many wait. */
  handle: RequestHandler
  /** Waits until a refusal may be sent. Returns false if the connection is to be closed instead. */
  paceRefusal(request: Request, response: Response): Promise<boolean>
}>

export function anonymousShare({ clock, draining, metrics }: Deps): AnonymousShare {
  const places = workPlaces({ clock }, anonymousBounds)
  // A composite signal for each call would leak memory while the daemon runs.
  const waiting = new Set<AbortController>()
  draining.addEventListener('abort', () => {
    for (const one of waiting) one.abort()
  })
  const begin = async (kind: AnonymousClass, request: Request, response: Response): Promise<boolean> => {
    const left = new AbortController()
    const signal = () => {
      waiting.add(left)
      response.on('close', () => left.abort())
      if (response.closed || draining.aborted) left.abort()
      return left.signal
    }
    try {
      const leave = await places.enter(kind, callerOf(undefined, request.ip ?? 'unknown'), signal)
      leave()
      return !response.closed
    } catch (error) {
      if (response.closed) return false
      metrics.refusedShare()
      throw error
    } finally {
      waiting.delete(left)
    }
  }
  return {
    handle: async (request, response, next) => {
      // Routes ignore the case of a path.
      const route = (request.route?.path as string | undefined) ?? request.baseUrl
      if (await begin(anonymousClassOf(route), request, response)) next()
    },
    paceRefusal: (request, response) => begin('refusal', request, response).catch(() => false),
  }
}
