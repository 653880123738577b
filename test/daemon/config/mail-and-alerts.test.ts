import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const webhook = (url: string, given = secret) => ({ TENANTRY_ALERTS_WEBHOOK_URL: url, TENANTRY_ALERTS_WEBHOOK_SECRET: given })

function refused(env: Record<string, string>): string {
  try {
    loadConfig({ env })
  } catch (error) {
    if (isProblem(error, 'CONFIG_INVALID')) return error.message
    throw error
  }
  return ''
}

test('whom alerts go to can be said by variables alone', () => {
  const env = { TENANTRY_ALERTS_MAIL_TO: 'ops@school.example, anna@school.example', TENANTRY_MAIL_SMTP: 'smtps://u:p@mx.school.example' }
  const config = loadConfig({ env: { ...env, ...webhook('https://hooks.example/a') } })
  expect(config.alerts).toMatchObject({
    mailTo: ['ops@school.example', 'anna@school.example'],
    webhook: { url: 'https://hooks.example/a', secret },
    repeatAfterMs: 3_600_000,
    onDone: false,
  })
})

test('a webhook is encrypted unless it is on this machine', () => {
  expect(refused(webhook('http://127.0.0.1:8009/hook'))).toBe('')
  expect(refused(webhook('http://[::1]:8009/hook'))).toBe('')
  expect(refused(webhook('http://hooks.example/a'))).toContain('alerts.webhook.url must begin with https:')
  expect(refused(webhook('http://127.0.0.1.example/a'))).toContain('alerts.webhook.url must begin with https:')
})

test('a webhook on a port that can never be called is refused in words', () => {
  for (const port of [6667, 10080])
    expect(refused(webhook(`https://hooks.example:${port}/hunter2`))).toBe(
      `the environment: alerts.webhook.url port ${port} is reserved for another protocol, so HTTP clients refuse it. fix: use another, such as 8443 (TENANTRY_ALERTS_WEBHOOK_URL)`,
    )
})

const wrong: Record<string, [Record<string, string>, string]> = {
  'an address that is none': [webhook('nonsense'), 'alerts.webhook.url'],
  'a user in the address': [webhook('https://me:hunter2@hooks.example'), 'alerts.webhook.url'],
  'a secret that is none': [webhook('https://hooks.example', 'hunter2'), 'alerts.webhook.secret'],
  'a secret that is short': [webhook('https://hooks.example', 'whsec_aGk='), 'alerts.webhook.secret'],
  'a webhook without a secret': [{ TENANTRY_ALERTS_WEBHOOK_URL: 'https://hooks.example' }, 'alerts.webhook.secret'],
  'a server of another kind': [{ TENANTRY_MAIL_SMTP: 'http://u:hunter2@mx.example' }, 'mail.smtp'],
  'a sender without an address': [{ TENANTRY_MAIL_FROM: 'Tenantry' }, 'mail.from'],
  'a sender of two lines': [{ TENANTRY_MAIL_FROM: 'a\nBcc: x@y.example <a@b.example>' }, 'mail.from'],
  'a receiver that is none': [{ TENANTRY_ALERTS_MAIL_TO: 'ops@school.example,ops' }, 'alerts.mailTo.1'],
}
test.each(Object.keys(wrong))('%s is refused with its path and without its value', (kind) => {
  const [env, path] = wrong[kind] as (typeof wrong)[string]
  expect(refused(env)).toContain(path)
  expect(refused(env)).not.toContain('hunter2')
})
