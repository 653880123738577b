import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  alertKey,
  alertKinds,
  messageText,
  type NewAlert,
  quoted,
  reasonText,
  subjectLine,
  webhookBody,
} from '../../../src/core/alerts/index.ts'
import { stuckFence } from '../../support/alerts.ts'

const at = '2026-01-05T02:00:00.000Z'
const url = 'https://tenantry.school.example'
const raised = (alert: NewAlert) => ({
  ...{ key: alertKey(alert.kind, alert.subject), severity: alertKinds[alert.kind].severity, ...alert },
  ...{ id: 12, count: 1, firstAt: at, lastAt: at, closedAt: null, closedBecause: null },
})
const stuck = raised(stuckFence('anna-schule'))

describe('kinds', () => {
  const daemon = readdirSync('src/daemon', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const sources = daemon.map((file) => readFileSync(`src/daemon/${file}`, 'utf8')).join('\n')

  test.each(Object.keys(alertKinds))('%s is raised by a feature of the daemon', (kind) => {
    expect(sources).toContain(`kind: '${kind}'`)
  })

  const head = `# Kinds of alerts
Made from \`src/core/alerts/kinds.ts\` by \`npx vitest run test/core/alerts/message.test.ts --update\`.
[Alerts](alerts.md) says how they are sent and closed.
`
  test('the page of kinds is made from their table', async () => {
    const page = Object.entries(alertKinds).map(([kind, { severity, raised, closed }]) => {
      const end = closed === null ? 'Acknowledge it.' : `Closed when ${closed}.`
      return `\n- \`${kind}\` (${severity})\\\n${folded(`${raised}. ${end}`)}\n`
    })
    await expect(head + page.join('')).toMatchFileSnapshot('../../../docs/alert-kinds.md')
  })
})

/** Lines of a list item of at most 118 characters. */
const folded = (text: string): string =>
  text.split(' ').reduce((lines, word) => {
    const length = lines.length - (lines.lastIndexOf('\n') + 1)
    return lines === '' ? `  ${word}` : `${lines}${length + 1 + word.length > 118 ? '\n  ' : ' '}${word}`
  }, '')

test('a mail ends with the command to run, and its subject names severity and thing', () => {
  expect(subjectLine(stuck)).toBe('CRITICAL: anna-schule has been in maintenance too long')
  expect(messageText(stuck, url).split('\n').at(-1)).toBe('    tenantry boxes show anna-schule')
})

test('a repeated alert shows its count, a closed one starts with Resolved', () => {
  const again = { ...stuck, count: 3, lastAt: '2026-01-05T03:00:00.000Z' }
  expect(subjectLine(again)).toBe('CRITICAL: anna-schule has been in maintenance too long (3 times)')
  expect(messageText(again, url)).toContain('3 times, last at 2026-01-05 03:00:00 UTC')
  const over = { ...again, closedAt: at, closedBecause: 'the fence was lifted' }
  expect(subjectLine(over)).toMatch(/^Resolved: /)
  expect(messageText(over, url)).toContain('2026-01-05 02:00:00 UTC: the fence was lifted')
})

test('the webhook body has the fields of the mail', () => {
  const { id, key, closedAt, closedBecause, standing, ...shown } = stuck
  const data = { ...shown, alertId: id, status: 'open', daemon: url }
  expect(webhookBody(stuck, url)).toEqual({ type: 'alert.raised', timestamp: at, data })
})

test('untrusted text adds no line break, no escape sequence and at most 400 characters', () => {
  const foreign = { code: 'X\r\nNothing to do.\u001b[2J', message: `one\r\nBcc: x@y.example\u001b[31m${'long '.repeat(1000)}` }
  const text = reasonText(foreign)
  expect(text).toMatch(/^X Nothing to do\.\ufffd\[2J: one Bcc: x@y\.example\ufffd\[31mlong/)
  expect(text.length).toBeLessThan(470)
  expect(quoted('a\nb')).toBe('a b')
})
