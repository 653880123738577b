import { EventEmitter } from 'node:events'
import type { Request, Response } from 'express'
import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { limitUnsigned } from '../../../src/daemon/http/signed-callers.ts'

const provider = '198.51.100.1'

/** An endpoint behind one limit; a call returns whether the limit applied to it. */
function anEndpoint() {
  const clock = manualClock()
  let limited = 0
  const handlers = limitUnsigned(clock, [
    (_, __, next) => {
      limited++
      next()
    },
  ])
  const call = (ip: string, statusCode: number): boolean => {
    const before = limited
    const response = Object.assign(new EventEmitter(), { locals: {}, statusCode }) as unknown as Response
    for (const handler of handlers) handler({ ip } as Request, response, () => undefined)
    response.emit('finish')
    return limited > before
  }
  return { clock, call }
}

test('the limits apply to an address until it sends a valid signature, and to others always', () => {
  const { call } = anEndpoint()
  expect([call(provider, 200), call(provider, 200)]).toEqual([true, false])
  expect([call('203.0.113.9', 400), call('203.0.113.9', 400), call(provider, 200)]).toEqual([true, true, false])
})

test('an IPv6 address is its /64', () => {
  const { call } = anEndpoint()
  expect([call('2001:db8::1', 200), call('2001:db8::2', 200), call('2001:db8:0:1::1', 200)]).toEqual([true, false, true])
})

test('the limits apply again after a refusal, and after ten minutes without an event', async () => {
  const { clock, call } = anEndpoint()
  call(provider, 200)
  expect([call(provider, 400), call(provider, 200), call(provider, 200)]).toEqual([false, true, false])
  await clock.advance(10 * 60_000 + 1)
  expect([call(provider, 200), call(provider, 200)]).toEqual([true, false])
})
