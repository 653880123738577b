import { expect, test } from 'vitest'
import { formatTraceparent, isSampledTrace, parseTraceparent, wrongCollector } from '../../../src/core/kit/index.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test('a traceparent is parsed and written', () => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true })
  expect(formatTraceparent({ traceId, spanId, isSampled: false })).toBe(`00-${traceId}-${spanId}-00`)
})

test.each([
  undefined,
  null,
  '',
  'x',
  `ff-${traceId}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
])('%s is no traceparent', (text) => expect(parseTraceparent(text)).toBeUndefined())

test('the ratio decides by the id of the trace', () => {
  expect([isSampledTrace(traceId, 0), isSampledTrace(traceId, 1)]).toEqual([false, true])
  expect([isSampledTrace(`${'0'.repeat(24)}7fffffff`, 0.5), isSampledTrace(`${'0'.repeat(24)}80000000`, 0.5)]).toEqual([true, false])
})

test.each([
  ['http://127.0.0.1:4318', undefined],
  ['grpc://collector:4317', 'must be the address of an OTLP/HTTP collector, such as http://127.0.0.1:4318'],
  ['https://user:word@collector.example', 'must contain neither a user name nor a query'],
])('%s as the address of a collector: %s', (address, reason) => expect(wrongCollector(address)).toBe(reason))
