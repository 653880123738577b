import type { RequestHandler } from 'express'
import { type Clock, problem } from '../../core/kit/index.ts'
import type { Spacing } from '../../core/limits/index.ts'
import { addressTurns } from '../http/index.ts'
import type { LimitsMetrics } from './limits-metrics.ts'
import type { WaitingRoom } from './waiting-room.ts'

type Deps = Readonly<{ clock: Clock; room: WaitingRoom; metrics: LimitsMetrics }>

/**
 * How often one client address may come: the rightmost hop that is no trusted proxy, as Express reads it. Those beyond the pace wait for
 * their turn where there is a buffer, and are refused beyond it.
 */
export function addressGate({ clock, room, metrics }: Deps, spacing: Spacing): RequestHandler {
  const turnOf = addressTurns(clock, spacing)
  const refuse = (retryAfterSeconds: number) => {
    metrics.refusedAddress()
    return problem('RATE_LIMITED', `too many requests from this address: wait ${retryAfterSeconds} s`, { retryAfterSeconds })
  }
  return async (request, response, next) => {
    const address = request.ip ?? 'unknown'
    const turn = turnOf(address)
    if (!('turnMs' in turn)) throw refuse(turn.retryAfterSeconds)
    if (turn.waitMs === 0) return next()
    const left = new AbortController()
    const held = room.hold(address, turn.waitMs, left)
    if (!held) throw refuse(Math.ceil(turn.waitMs / 1000))
    response.on('close', () => left.abort())
    await held
    if (!response.closed) next()
  }
}
