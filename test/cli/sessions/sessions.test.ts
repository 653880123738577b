import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const id = 'ses_0123456789abcdefghjk'
const session = {
  id,
  user: 'anna',
  deviceName: 'Anna’s\u001b[31m phone',
  network: '192.0.2.0/24',
  createdAt: at('01:00:00'),
  lastUsedAt: at('01:30:00'),
  expiresAt: at('14:00:00'),
  endedAt: null,
  endedBy: null,
}
const page = (sessions: readonly object[], most = 100) => ({ sessions, nextCursor: null, most })
const list = 'GET /api/admin/v1/tenants/one/sessions'

test('sessions are listed without control characters of device names', async () => {
  const ran = await tenantry(['users', 'sessions', 'one', 'anna'], { answers: { [list]: page([session]) } })
  expect([ran.exit, ran.asked[0]?.search]).toEqual([0, '?user=anna'])
  for (const part of [id, 'Anna’s\ufffd[31m phone', '192.0.2.0/24']) expect(ran.stdout).toContain(part)
})

test('an empty list is reported', async () => {
  const ran = await tenantry(['users', 'sessions', 'one', 'anna'], { answers: { [list]: page([]) } })
  expect(ran.stdout).toBe('No open sessions.\n')
})

test('the session limit and the next page are shown below the list', async () => {
  const full = await tenantry(['users', 'sessions', 'one', 'anna'], { answers: { [list]: page([session], 1) } })
  expect(full.stdout).toContain('Session limit (1) reached: the next login ends the least recently used session.')
  const more = await tenantry(['users', 'sessions', 'one', 'anna', '--limit', '1'], {
    answers: { [list]: { ...page([session]), nextCursor: 'there' } },
  })
  expect([more.asked[0]?.search, more.stdout]).toEqual(['?user=anna&limit=1', expect.stringContaining('--cursor there')])
})

test('--ended shows the reason of each', async () => {
  const ended = { ...session, endedAt: at('01:40:00'), endedBy: 'too_many' }
  const ran = await tenantry(['users', 'sessions', 'one', 'anna', '--ended'], { answers: { [list]: page([ended]) }, columns: 160 })
  expect(ran.asked[0]?.search).toContain('ended=true')
  expect(ran.stdout).toContain('too many sessions')
})

test('an operator ends a session by its id', async () => {
  const ran = await tenantry(['users', 'end-session', 'one', id], {
    answers: { [`DELETE /api/admin/v1/tenants/one/sessions/${id}`]: undefined },
  })
  expect([ran.exit, ran.stdout]).toEqual([0, `Ended ${id}.\n`])
})
