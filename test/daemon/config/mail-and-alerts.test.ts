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

const slack = { name: 'ops', form: 'slack', url: 'https://hooks.example/hunter2' }
const channels = (...list: unknown[]) => ({ TENANTRY_ALERTS_CHANNELS: JSON.stringify(list) })
const rules = (value: unknown) => ({ TENANTRY_ALERTS_RULES: JSON.stringify(value) })

test('rooms and services, and rules by channel, are JSON in a variable', () => {
  const list = [
    slack,
    { name: 'room', form: 'matrix', url: 'https://chat.example', room: '!a:chat.example', tokenFile: '/run/secrets/token' },
    { name: 'phone', form: 'ntfy', url: 'https://ntfy.example/alerts' },
    { name: 'on-call', form: 'pagerduty', routingKey: 'r' },
  ]
  const ofOps = { minSeverity: 'warning', kinds: ['box_down'], quietHours: '22:00-07:00', dailyAt: '08:00' }
  const { alerts } = loadConfig({ env: { ...channels(...list), ...rules({ ops: ofOps, 'on-call': { minSeverity: 'critical' } }) } })
  expect(alerts.channels.slice(0, 3)).toEqual(list.slice(0, 3))
  expect(alerts.channels[3]).toMatchObject({ url: 'https://events.pagerduty.com/v2/enqueue' })
  expect(alerts.rules).toEqual({ ops: ofOps, 'on-call': { minSeverity: 'critical' } })
})

const matrix = { name: 'room', form: 'matrix', url: 'https://chat.example', room: '!a:chat.example', token: 'hunter2' }
const wrongChannels: Record<string, [Record<string, string>, string]> = {
  'no JSON': [{ TENANTRY_ALERTS_CHANNELS: 'hunter2' }, 'alerts.channels must be JSON in a variable'],
  'no form': [channels({ ...slack, form: 'fax' }), 'must have a form: matrix, slack, ntfy or pagerduty'],
  'an address in the clear': [channels({ ...slack, url: 'http://10.0.0.1/hunter2' }), 'alerts.channels.0.url must begin with https:'],
  'a forbidden port': [channels({ ...slack, url: 'https://hooks.example:6667/hunter2' }), 'alerts.channels.0.url port 6667'],
  'no address': [channels({ ...slack, url: undefined }), 'alerts.channels.0.url must be given either here or in urlFile'],
  'a secret twice': [channels({ ...matrix, tokenFile: 'a' }), 'alerts.channels.0.token must be given either here or in tokenFile'],
  'a secret of two lines': [channels({ ...matrix, token: 'hunter2\n' }), 'alerts.channels.0.token must be one line'],
  'an alias of a room': [channels({ ...matrix, room: '#ops:chat.example' }), 'alerts.channels.0.room must be the id of a room'],
  'no topic': [channels({ name: 'a', form: 'ntfy', url: 'https://ntfy.example/' }), 'alerts.channels.0.url must end with a topic'],
  'a name twice': [channels(slack, matrix, slack), 'alerts.channels.2.name is the name of another channel'],
  'the name of the mail': [channels({ ...slack, name: 'mail' }), 'alerts.channels.0.name is the name of another channel'],
  'a rule of no channel': [{ ...channels(slack), ...rules({ mail: {} }) }, 'alerts.rules.mail no channel has this name (ops). fix: '],
  'quiet hours without end': [
    { ...channels(slack), ...rules({ ops: { quietHours: '22:00' } }) },
    'must be two times of day, such as 22:00-07:00',
  ],
  'a time that is none': [{ ...channels(slack), ...rules({ ops: { dailyAt: '8' } }) }, 'alerts.rules.ops.dailyAt must be a time of day'],
  'an unknown kind': [{ ...channels(slack), ...rules({ ops: { kinds: ['x'] } }) }, 'docs/alert-kinds.md lists them'],
  'an unknown key': [channels({ ...slack, secret: 'hunter2' }), 'alerts.channels.0'],
}
test.each(Object.keys(wrongChannels))('a channel with %s is refused in words, without its secrets', (kind) => {
  const [env, text] = wrongChannels[kind] as (typeof wrongChannels)[string]
  expect(refused(env)).toContain(text)
  expect(refused(env)).not.toContain('hunter2')
})
