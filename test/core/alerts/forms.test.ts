import { expect, test } from 'vitest'
import { type AlertMessage, digestMessage, matrixBody, ntfyBody, pagerDutyBody, slackBody } from '../../../src/core/alerts/index.ts'

const url = 'https://tenantry.school.example'
const alert = (given: Partial<AlertMessage> = {}): AlertMessage => ({
  ...{
    id: 12,
    kind: 'box_down',
    subject: 'anna-schule',
    severity: 'critical',
    title: 'anna-schule is stopped',
    body: 'Users are cut off.',
  },
  ...{ command: 'tenantry boxes show anna-schule', count: 1, firstAt: '2026-01-05T02:00:00.000Z', lastAt: '2026-01-05T02:00:00.000Z' },
  ...{ closedAt: null, closedBecause: null },
  ...given,
})
const closed = { closedAt: '2026-01-05T03:00:00.000Z', closedBecause: 'the box is open again' }
const hostile = alert({
  title: '<img src=x onerror="a()"> <!channel> @here *bold*',
  body: 'a & b ``` `c` <https://evil.example|click>\nline',
})

test('a room gets plain text and HTML in which nothing of the text is markup', () => {
  const { body, formatted_body: html } = matrixBody(hostile)
  expect(body).toContain('<img src=x')
  expect(html).not.toMatch(/<(?!\/?(p|strong|br|pre|code)>)/)
  expect(html).toContain('a &amp; b ``` `c` &lt;https://evil.example|click&gt;<br>line')
})

test.each([
  ['critical', null, 'm.text'],
  ['warning', null, 'm.text'],
  ['info', null, 'm.notice'],
  ['critical', closed.closedAt, 'm.notice'],
] as const)('a %s alert closed at %s is a %s that mentions nobody', (severity, closedAt, msgtype) => {
  expect(matrixBody(alert({ severity, closedAt }))).toMatchObject({ msgtype, 'm.mentions': {} })
})

test('a Slack text has no link, mention or code of the alert', () => {
  const { text } = slackBody(hostile)
  expect(text).not.toMatch(/[<>]|@here/)
  expect(text.match(/```/g)).toHaveLength(2)
  expect(text.match(/\*/g)).toHaveLength(2)
  expect(text).toContain('a &amp; b')
})

test.each([
  ['critical', null, 5, 'rotating_light'],
  ['warning', null, 4, 'warning'],
  ['info', null, 2, 'information_source'],
  ['critical', closed.closedAt, 3, 'white_check_mark'],
] as const)('ntfy shows a %s alert closed at %s with priority %i', (severity, closedAt, priority, tag) => {
  expect(ntfyBody(alert({ severity, closedAt }), 'ops')).toMatchObject({ topic: 'ops', priority, tags: [tag] })
})

test('a closed alert resolves the incident of the same key; another alert and another daemon have another key', () => {
  const key = (message: AlertMessage, daemon = url) => pagerDutyBody(message, { routingKey: 'r', url: daemon }).dedup_key
  expect(pagerDutyBody(alert(closed), { routingKey: 'r', url })).toEqual({
    routing_key: 'r',
    dedup_key: 'tenantry/tenantry.school.example/12',
    event_action: 'resolve',
  })
  expect(key(alert({ count: 5 }))).toBe(key(alert(closed)))
  expect(new Set([key(alert()), key(alert({ id: 13 })), key(alert(), 'https://other.example')]).size).toBe(3)
})

test('the lengths of all forms are bounded, and no character is cut in two', () => {
  const long = '\u{1F600}'.repeat(30_000)
  const huge = alert({ title: long, body: long, subject: long, command: `tenantry ${long}`, ...closed, closedBecause: long })
  const open = { ...huge, closedAt: null }
  const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
  for (const one of [huge, open]) {
    expect(bytes(matrixBody(one))).toBeLessThan(60_000)
    expect(slackBody(one).text.length).toBeLessThan(4000)
    expect(Buffer.byteLength(ntfyBody(one, 'ops').message)).toBeLessThanOrEqual(4096)
    for (const body of [matrixBody(one), slackBody(one), ntfyBody(one, 'ops')]) expect(JSON.stringify(body)).not.toMatch(/\\ud[89a-f]/)
  }
  const event = pagerDutyBody(open, { routingKey: 'r', url }) as { payload: { summary: string } }
  expect(event.payload.summary.length).toBeLessThanOrEqual(1024)
  expect(bytes(event)).toBeLessThan(60_000)
})

test('a digest shows the most severe alerts first, closed ones last, and says how many are left out', () => {
  const many = Array.from({ length: 60 }, (_, n) =>
    alert({ id: n + 1, severity: n === 59 ? 'warning' : 'info', ...(n === 0 ? closed : {}) }),
  )
  const digest = digestMessage(many, '2026-01-05T07:00:00.000Z')
  expect(digest).toMatchObject({ kind: 'digest', severity: 'warning', title: 'Digest of 60 alerts, 59 open', closedAt: null })
  const lines = digest.body.split('\n')
  expect(lines[0]).toBe('60. Warning: anna-schule is stopped, since 2026-01-05 02:00:00 UTC')
  expect(lines).toHaveLength(41)
  expect(lines.at(-1)).toBe('… and 20 more')
  expect(digestMessage([alert(closed)], '2026-01-05T07:00:00.000Z')).toMatchObject({
    severity: 'info',
    title: 'Digest of 1 alert, 0 open',
    body: '12. Resolved: anna-schule is stopped, since 2026-01-05 02:00:00 UTC',
  })
})
