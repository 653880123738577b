import { describe, expect, test } from 'vitest'
import type { Alert, AlertDelivery } from '../../../src/core/alerts/index.ts'
import { stuckFence } from '../../support/alerts.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const stuck = stuckFence('anna-schule')
const anAlert = (given: Partial<Alert> = {}): Alert => ({
  ...{ id: 12, kind: stuck.kind, key: 'fence_stuck:anna-schule', subject: 'anna-schule', severity: 'critical', status: 'open' },
  ...{ title: stuck.title, body: stuck.body, command: stuck.command, count: 3, firstAt: at('01:00:00'), lastAt: at('01:58:00') },
  ...{ acknowledgedAt: null, acknowledgedBy: null, closedAt: null, closedBecause: null },
  deliveries: { sent: 1, pending: 0, dead: 1 },
  ...given,
})
const dead: AlertDelivery = {
  ...{ id: 'msg_1', channel: 'webhook', target: 'https://hooks.example', status: 'dead', attempts: 12 },
  ...{ lastError: 'the webhook at https://hooks.example answered 500\u001b[31m', createdAt: at('01:00:00'), sentAt: null },
}
const letter = { id: 7, topic: 'audit.checkpoint', attempts: 12, lastError: 'the disk is full', createdAt: at('00:00:00') }
const page = (alerts: Alert[], deadLetters = [letter]) => ({ alerts, nextCursor: null, deadLetters })
const base = '/api/admin/v1/alerts'

describe('list', () => {
  test('shows open alerts with their notifications, and dead jobs', async () => {
    const ran = await tenantry(['alerts', 'list'], { answers: { [`GET ${base}`]: page([anAlert()]) } })
    const [head, row, , letterHead, letterRow] = ran.stdout.split('\n')
    expect(head).toMatch(/NO +SEVERITY +STATUS +ALERT +COUNT +LAST SEEN +NOTIFIED/)
    expect(row).toMatch(/12 +critical +open +anna-schule has been in maintenance too long +3 +2 min ago +1 sent, 1 failed/)
    expect(letterHead).toMatch(/JOB +TOPIC/)
    expect(letterRow).toMatch(/7 +audit\.checkpoint +2 h ago +12 +the disk is full/)
    expect(ran.stdout).toContain('tenantry jobs retry')
  })

  test('passes filters to the API and prints its response with --json', async () => {
    const line = ['alerts', 'list', '--status', 'open', '--kind', 'fence_stuck', '--about', 'anna-schule', '--json']
    const ran = await tenantry(line, { answers: { [`GET ${base}`]: page([anAlert()]) } })
    expect(ran.asked[0]?.search).toBe('?status=open&kind=fence_stuck&subject=anna-schule')
    expect(JSON.parse(ran.stdout)).toEqual(page([anAlert()]))
  })

  test.each([60, 80, 100])('keeps within %i columns and shows the title whole', async (columns) => {
    const ran = await tenantry(['alerts', 'list'], { answers: { [`GET ${base}`]: page([anAlert()]) }, columns, env: { NO_COLOR: '1' } })
    for (const line of ran.stdout.split('\n').filter((one) => !one.startsWith('Dead jobs')))
      expect(line.length).toBeLessThanOrEqual(columns)
    expect(ran.stdout.replaceAll(/\n +/g, ' ')).toContain(anAlert().title)
  })

  test('an empty list points to a delivery test', async () => {
    const ran = await tenantry(['alerts', 'list'], { answers: { [`GET ${base}`]: page([], []) } })
    expect(ran.stdout).toContain('tenantry alerts test')
  })
})

test('show prints the alert, its deliveries and the next commands', async () => {
  const ran = await tenantry(['alerts', 'show', '12'], { answers: { [`GET ${base}/12`]: { alert: anAlert(), deliveries: [dead] } } })
  expect(ran.stdout).toContain('CRITICAL anna-schule has been in maintenance too long')
  expect(ran.stdout).toMatch(/webhook +https:\/\/hooks\.example +failed/)
  expect(ran.stdout).not.toContain('\u001b[31m')
  expect(ran.stdout.trim().split('\n').slice(-3)).toEqual([
    'next: tenantry boxes show anna-schule',
    'acknowledge: tenantry alerts acknowledge 12',
    'resend failed messages: tenantry alerts resend 12',
  ])
})

test.each([
  [true, 'Not sent yet.'],
  [false, 'Not sent: no channel is configured for it.'],
])('an alert without messages, with channels: %s, is "%s"', async (hasChannels, text) => {
  const answers = { [`GET ${base}/12`]: { alert: anAlert(), deliveries: [], hasChannels } }
  expect((await tenantry(['alerts', 'show', '12'], { answers })).stdout).toContain(text)
})

test('acknowledge names the person', async () => {
  const alert = anAlert({ status: 'acknowledged', acknowledgedBy: 'admin:anna', acknowledgedAt: at('02:00:00') })
  const ran = await tenantry(['alerts', 'acknowledge', '12'], { answers: { [`POST ${base}/12/acknowledge`]: { alert, deliveries: [] } } })
  expect(ran.stdout).toContain('Alert 12 acknowledged by admin:anna.')
})

test.each([
  [[], 'dead'],
  [['--all'], 'all'],
])('resend %j sends which=%s', async (more, which) => {
  const answers = { [`POST ${base}/12/resend`]: { alert: anAlert({ deliveries: { sent: 0, pending: 1, dead: 0 } }), deliveries: [dead] } }
  const ran = await tenantry(['alerts', 'resend', '12', ...more], { answers })
  expect(ran.asked[0]?.body).toEqual({ which })
  expect(ran.stdout).toContain('1 message queued')
})

test('test prints the answer of each channel and fails when one refused', async () => {
  const ok = { channel: 'mail', target: 'ops@school.example', ok: true, says: 'taken by mx.school.example' }
  const bad = { channel: 'webhook', target: 'https://hooks.example', ok: false, says: 'the webhook at https://hooks.example answered 403' }
  const ran = await tenantry(['alerts', 'test'], { answers: { [`POST ${base}/test`]: { tried: [ok, bad] } } })
  expect(ran.exit).toBe(1)
  expect(ran.stdout).toContain('✓ mail to ops@school.example: taken by mx.school.example\n✗ webhook to https://hooks.example:')
  expect((await tenantry(['alerts', 'test'], { answers: { [`POST ${base}/test`]: { tried: [ok] } } })).exit).toBe(0)
})

test('an alert that is not a number is a usage error', async () => {
  const ran = await tenantry(['alerts', 'show', 'north'])
  expect([ran.exit, ran.asked]).toEqual([2, []])
  expect(ran.stderr).toContain('north is not an alert number')
})

const channel = {
  ...{ name: 'on-call', channel: 'pagerduty', target: 'on-call', address: 'https://events.pagerduty.com', timeZone: 'UTC', held: 0 },
  ...{ minSeverity: 'critical', kinds: null, quietHours: null, dailyAt: null },
  last: { status: 'dead', at: at('01:58:00'), error: 'the channel on-call at https://events.pagerduty.com answered 400\u001b[31m' },
}
const room = {
  ...{
    name: 'ops',
    channel: 'matrix',
    target: 'ops',
    address: '!a:chat.example at https://chat.example',
    timeZone: 'Europe/Berlin',
    held: 3,
  },
  ...{ minSeverity: 'warning', kinds: ['box_down'], quietHours: '22:00-07:00', dailyAt: null, last: null },
}

describe('channels', () => {
  const answers = { [`GET ${base}/channels`]: { channels: [channel, room] } }
  test('shows each channel, its rules and its last outcome', async () => {
    const { stdout } = await tenantry(['alerts', 'channels'], { answers, columns: 200, env: { NO_COLOR: '1' } })
    expect(stdout).toMatch(/on-call +pagerduty +https:\/\/events\.pagerduty\.com +critical +- +failed 2 min ago/)
    expect(stdout).toContain('answered 400')
    expect(stdout).not.toContain('\u001b[31m')
    expect(stdout).toMatch(/ops +matrix .* warning and above, 1 kind, quiet 22:00-07:00 \(Europe\/Berlin\) +3 +none/)
  })

  test('prints the response with --json, and what to set without a channel', async () => {
    expect(JSON.parse((await tenantry(['alerts', 'channels', '--json'], { answers })).stdout)).toEqual({ channels: [channel, room] })
    const none = await tenantry(['alerts', 'channels'], { answers: { [`GET ${base}/channels`]: { channels: [] } } })
    expect(none.stdout).toContain('set alerts.channels')
  })

  test('a test of one channel sends its name', async () => {
    const tried = [{ channel: 'pagerduty', target: 'on-call', ok: false, says: 'answered 400' }]
    const ran = await tenantry(['alerts', 'test', 'on-call'], { answers: { [`POST ${base}/test`]: { tried } } })
    expect(ran.asked[0]?.body).toEqual({ channel: 'on-call' })
    expect(ran.stdout).toContain('pagerduty to on-call: answered 400')
    expect(ran.exit).toBe(1)
  })
})
