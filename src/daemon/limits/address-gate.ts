import type { RequestHandler } from 'express'
import { type Clock, problem } from '../../core/kit/index.ts'
import type { Spacing } from '../../core/limits/index.ts'
import { addressSlots } from '../http/index.ts'
import type { DelayQueue } from './delay-queue.ts'
import type { LimitsMetrics } from './limits-metrics.ts'

type Deps = Readonly<{ clock: Clock; delays: DelayQueue; metrics: LimitsMetrics }>

/**
 * Limits requests per client address (the rightmost hop that is not a trusted proxy). Requests above the pace are delayed within the buffer and
 * refused beyond it.
 */
export function addressGate({ clock, delays, metrics }: Deps, spacing: Spacing): RequestHandler {
  const slotOf = addressSlots(clock, spacing)
  const refuse = (retryAfterSeconds: number) => {
    metrics.refusedAddress()
    return problem('RATE_LIMITED', `Too many requests from this address. Retry in ${retryAfterSeconds} s.`, { retryAfterSeconds })
  }
  return async (request, response, next) => {
    const address = request.ip ?? 'unknown'
    const slot = slotOf(address)
    if (!('slotMs' in slot)) throw refuse(slot.retryAfterSeconds)
    if (slot.waitMs === 0) return next()
    const left = new AbortController()
    const held = delays.hold(address, slot.waitMs, left)
    if (!held) throw refuse(Math.ceil(slot.waitMs / 1000))
    response.on('close', () => left.abort())
    await held
    if (!response.closed) next()
  }
}
