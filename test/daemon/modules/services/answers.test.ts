import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openServiceCalls } from '../../../../src/daemon/modules/services/call-service.ts'

const answerWith = (body: Buffer) =>
  openServiceCalls({ send: async () => Object.assign(Readable.from([body]), { statusCode: 200 }) as unknown as IncomingMessage })({
    ...{ upstream: 'https://service.example', tenantId: 'ten_1', moduleId: 'attendance', id: 'msg_1', body: '{}', at: new Date(0) },
    ...{ secret: `whsec_${Buffer.alloc(32).toString('base64')}`, timeoutMs: 1000 },
  })

test('an answer of a service is text, or the message failed: letters are never replaced', async () => {
  expect(await answerWith(Buffer.from('"T\u00fcr"'))).toEqual({ ok: true, body: '"T\u00fcr"' })
  expect(await answerWith(Buffer.from('"T\u00fcr"', 'latin1'))).toEqual({
    ok: false,
    failure: { status: 200, reason: 'the answer of the service is not UTF-8' },
  })
})
