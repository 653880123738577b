import { expect, test } from 'vitest'
import type { Homeserver, ServiceRequest } from '../../../src/core/homeserver/index.ts'
import { sendAsBot } from '../../../src/daemon/homeserver/index.ts'

type Content = Readonly<{ body: string; 'm.mentions'?: Readonly<{ user_ids: readonly string[] }> }>

test.each([
  [100, 200],
  [58_000, 6],
  [59_940, 0],
])('a message of %i letters is sent whole, with as many of 200 mentions as fit: %i', async (letters, mentioned) => {
  const sent: ServiceRequest[] = []
  const send = async (request: ServiceRequest) => {
    sent.push(request)
    return { kind: 'ok', json: { event_id: '$one' } }
  }
  const mentions = Array.from({ length: 200 }, (_, number) => `@${String(number).padStart(200, 'a')}:chat.school.example`)
  const message = { roomId: '!room', body: 'x'.repeat(letters), mentions, transactionId: 'one' }
  await sendAsBot({ homeserver: { send } as unknown as Homeserver, chatDomain: 'chat.school.example' }, message)
  const content = sent[0]?.body as Content
  expect([content.body.length, content['m.mentions']?.user_ids.length ?? 0]).toEqual([letters, mentioned])
})
