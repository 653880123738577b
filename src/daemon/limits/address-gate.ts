import type { Request, RequestHandler, Response } from 'express'
import { type Clock, problem } from '../../core/kit/index.ts'
import type { Spacing } from '../../core/limits/index.ts'
import { addressSlots } from '../http/index.ts'
import type { DelayQueue } from './delay-queue.ts'
import type { LimitsMetrics } from './limits-metrics.ts'

type Deps = Readonly<{ clock: Clock; delays: DelayQueue; metrics: LimitsMetrics }>

/**
 * Limits requests per client address, except event streams of users (the rightmost hop that is not a trusted proxy). Requests above the pace are delayed within the buffer and
 * refused beyond it.
 */
export function addressGate({ clock, delays, metrics }: Deps, spacing: Spacing): RequestHandler {
  const slotOf = addressSlots(clock, spacing)
  const refuse = (retryAfterSeconds: number) => {
    metrics.refusedAddress()
    return problem('RATE_LIMITED', `Too many requests from this address. Retry in ${retryAfterSeconds} s.`, { retryAfterSeconds })
  }
  return async (request, response, next) => {
    if (response.locals.isUserStream) return next()
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

/** Refusals of one address that wait. */
const maxWaiting = 300

/**
 * Answers refusals of one address at `perSecond`, thirty times as many at once: an attacker that repeats refused requests waits for each answer. Returns
 * false if the connection is to be closed without one.
 */
export function refusalPace({ clock, delays, metrics }: Deps, perSecond: number) {
  const slotOf = addressSlots(clock, { perSecond, atOnce: 30 * perSecond, buffered: maxWaiting })
  return async (request: Request, response: Response): Promise<boolean> => {
    const address = request.ip ?? 'unknown'
    const slot = slotOf(address)
    if ('slotMs' in slot && slot.waitMs === 0) return true
    metrics.refusedAddress()
    const left = new AbortController()
    const held = 'slotMs' in slot ? delays.hold(address, slot.waitMs, left) : undefined
    if (!held) return false
    response.on('close', () => left.abort())
    await held
    return !response.closed
  }
}
