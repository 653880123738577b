import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { isUnreachable, messageBody, messageId, readAnswer, restMs, retryAt } from '../../../src/core/module-services/index.ts'

test('a message has the form of Standard Webhooks and the id of its delivery', () => {
  const message = { type: 'space.created', at: '2026-03-01T10:00:00.000Z', tenantId: 'ten_1', moduleId: 'attendance', version: '1.0.0' }
  expect(JSON.parse(messageBody('msg_1', { ...message, payload: { spaceId: 'spc_1' }, seq: 7 }))).toEqual({
    type: 'space.created',
    timestamp: '2026-03-01T10:00:00.000Z',
    data: { deliveryId: 'msg_1', tenantId: 'ten_1', moduleId: 'attendance', version: '1.0.0', payload: { spaceId: 'spc_1' }, seq: 7 },
  })
  expect(messageId('ten_1', 'attendance', 7)).toBe(messageId('ten_1', 'attendance', 7))
  expect(messageId('ten_1', 'attendance', 7)).not.toBe(messageId('ten_1', 'attendance', 8))
})

test('signatures are those of the published example of Standard Webhooks', () => {
  const signature = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw').sign(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    new Date(1_614_265_330_000),
    '{"test": 2432232314}',
  )
  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

test.each([
  ['', { publish: [] }],
  ['ok', { publish: [] }],
  ['[]', { publish: [] }],
  ['{}', { publish: [] }],
  ['{"publish":[{"name":"lesson_missed"}]}', { publish: [{ name: 'lesson_missed', payload: {} }] }],
  [
    '{"publish":[{"name":"lesson_missed","payload":{"n":1},"spaceId":"spc_1"}],"more":1}',
    { publish: [{ name: 'lesson_missed', payload: { n: 1 }, spaceId: 'spc_1' }] },
  ],
])('the answer %s publishes', (body, expected) => expect(readAnswer(body)).toEqual(expected))

const tooMany = `{"publish":[${'{"name":"a"},'.repeat(100)}{"name":"a"}]}`
const nested = `{"publish":[{"name":"a","payload":${'['.repeat(65)}${']'.repeat(65)}}]}`
test.each([
  nested,
  '{"publish":[{"name":"a","spaceId":"spc\\u0000"}]}',
  '{"publish":{}}',
  '{"publish":[{"name":"No"}]}',
  '{"publish":[{"name":"a","x":1}]}',
  tooMany,
])('the answer %.40s has a fault and publishes nothing', (body) =>
  expect(readAnswer(body)).toEqual({ publish: [], fault: expect.stringMatching(/^publish/) }),
)

test('letters that a database cannot store are not part of a fault', () => {
  expect(readAnswer('{"publish":[{"name":"a","\\u0000":1}]}').fault).toMatch(/^publish[^\0]*$/)
})

test('no answer, 429, 502, 503 and 504 are about the service; other answers are about one message', () => {
  const statuses = [null, 200, 400, 404, 410, 422, 429, 500, 502, 503, 504]
  expect(statuses.filter((status) => isUnreachable({ status, reason: '' }))).toEqual([null, 429, 502, 503, 504])
})

test('messages are sent again after 5 s, then later, at most an hour apart', () => {
  expect([1, 2, 3, 10, 1000].map((attempts) => retryAt(attempts, 0) / 1000)).toEqual([5, 10, 20, 2560, 3600])
  expect([1, 2, 8, 9, 1000].map((failures) => restMs(failures) / 1000)).toEqual([2, 4, 256, 300, 300])
})
