import { expect, test } from 'vitest'
import type { Followup } from '../../../src/core/outbox/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/v1/followups'
const dead: Followup = {
  ...{ id: 7, topic: 'chat.space', state: 'dead', tenant: 'anna-schule', about: { spaceId: 'spc_1' }, queue: 'chat:ten_1:spaces' },
  ...{ attempts: 12, lastError: 'it answered 418\u001b[31m', createdAt: at('00:00:00'), nextAt: null },
}
const page = {
  followups: [dead],
  nextCursor: '7',
  counts: [{ topic: 'chat.space', state: 'dead' as const, count: 3, oldestAt: at('00:00:00') }],
}

test('list shows what waits and how much, hands filters on, and says how to try again', async () => {
  const line = ['followups', 'list', '--state', 'dead', '--topic', 'chat.space']
  const ran = await tenantry(line, { answers: { [`GET ${base}`]: page } })
  expect(ran.asked[0]?.search).toBe('?state=dead&topic=chat.space')
  expect(ran.stdout).toMatch(/NO +WORK +STATE +TENANT +SINCE +TRIES +LAST ERROR/)
  expect(ran.stdout).toMatch(/7 +chat\.space +dead +anna-schule +2 h ago +12 +it answered 418/)
  expect(ran.stdout).toMatch(/chat\.space +dead +3 +2 h ago/)
  expect(ran.stdout).not.toContain('\u001b[31m')
  expect(ran.stdout).toContain('--cursor 7')
  expect(ran.stdout).toContain('tenantry followups retry')
  const json = await tenantry([...line, '--json'], { answers: { [`GET ${base}`]: page } })
  expect(JSON.parse(json.stdout)).toEqual(page)
})

test('show says what one is about and what to type', async () => {
  const ran = await tenantry(['followups', 'show', '7'], { answers: { [`GET ${base}/7`]: dead } })
  expect(ran.stdout).toMatch(/spaceId +spc_1/)
  expect(ran.stdout).not.toContain('\u001b[31m')
  expect(ran.stdout.trim().split('\n').at(-1)).toBe('Once its cause is mended: tenantry followups retry 7')
})

test('retry takes all, what is named, or one kind', async () => {
  const answers = { [`POST ${base}/retry`]: { retried: 2 } }
  expect((await tenantry(['followups', 'retry'], { answers })).asked[0]?.body).toEqual({})
  expect((await tenantry(['followups', 'retry', '--topic', 'chat.space'], { answers })).asked[0]?.body).toEqual({ topic: 'chat.space' })
  const none = await tenantry(['followups', 'retry', '--topic', 'chat'], { answers: { [`POST ${base}/retry`]: { retried: 0 } } })
  expect(none.stdout).toBe('Nothing of the kind chat was given up: `tenantry followups list --state dead` shows what was.\n')
  const ran = await tenantry(['followups', 'retry', '7', '8'], { answers })
  expect(ran.asked[0]?.body).toEqual({ ids: [7, 8] })
  expect(ran.stdout).toContain('2 pieces of work')
})

test('what is no number is said so', async () => {
  const ran = await tenantry(['followups', 'show', 'north'])
  expect([ran.exit, ran.asked]).toEqual([2, []])
})
