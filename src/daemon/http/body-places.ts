import type { Request, RequestHandler } from 'express'
import type { Auth, Bound, EndpointShape } from '../../core/contract/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { hasBody } from './body-time.ts'
import { callerOf, workPlaces } from './work-places.ts'

export const defaultBodyLimit = 256 * 1024

/** A JSON body is in memory while it arrives, as slowly as its sender likes. */
const bounds = {
  small: { work: 'sends a body', perCaller: 64 },
  large: { work: 'sends more than 256 KB', perCaller: 8, perTenant: 32, parallel: 64, waiting: 500, maxWaitSeconds: 10 },
} as const satisfies Record<string, Bound>

/** Bounds the bodies that are under way: of users, operators, agents and strangers separately, so that none of them keeps out others. */
export function bodyPlaces(clock: Clock): (endpoint: EndpointShape) => RequestHandler {
  const rooms = new Map<Auth['kind'], ReturnType<typeof workPlaces<keyof typeof bounds>>>()
  return ({ auth: { kind }, bodyLimit = defaultBodyLimit }) => {
    const room = rooms.get(kind) ?? workPlaces({ clock }, bounds)
    rooms.set(kind, room)
    return async (request, response, next) => {
      // Most bodies arrive together with their headers.
      if (!hasBody(request) || request.complete) return next()
      const over = new AbortController()
      request.once('close', () => over.abort())
      const caller = callerOf(response.locals.actor, request.ip ?? 'unknown')
      const free = await room.enter(bytesOf(request, bodyLimit) > defaultBodyLimit ? 'large' : 'small', caller, () => over.signal)
      if (request.destroyed) return free()
      request.once('end', free).once('close', free)
      next()
    }
  }
}

/** Only the limit of the endpoint is known of a body in chunks, and of one that grows when it is decoded. */
const bytesOf = ({ headers }: Request, limit: number): number =>
  headers['content-encoding'] === undefined && headers['content-length'] !== undefined ? Number(headers['content-length']) : limit
