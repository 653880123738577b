import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { assertChannelFiles, closeAlerts } from '../../../src/daemon/alerts/index.ts'
import { testAlerts } from '../../../src/daemon/alerts/operator-actions.ts'
import { showAlert } from '../../../src/daemon/alerts/read-alerts.ts'
import type { ChannelSettings } from '../../../src/daemon/config/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { alertsWorld, anna, stuck } from '../../support/alerts-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { webhookServer } from '../../support/webhook-server.ts'

const originOf = (url: string) => new URL(url).origin
const bodyOf = ({ text }: { text: string }) => JSON.parse(text) as Record<string, unknown>
const secrets = /t0psecret/
const heading = 'CRITICAL: north has been in maintenance too long'
const command = 'tenantry boxes show north'

onBothDialects('rooms and services that get alerts', (fresh) => {
  /** Raises an alert, closes it an hour later, and returns what the server got. */
  async function story(channel: (url: string) => ChannelSettings) {
    const [db, server] = [await fresh(), await webhookServer({ status: 200 })]
    const { clock, drain, raise } = await alertsWorld(db, { channels: [channel(server.url)] })
    const alertId = await raise(stuck)
    const since = clock.now().toISOString()
    await drain()
    await clock.advance(600_000)
    await db.transaction().execute((tx) => closeAlerts(tx, clock, { subject: 'north', because: 'the fence was lifted' }))
    await drain()
    await drain()
    expect(server.posts).toHaveLength(2)
    const deliveries = await db.selectFrom('alert_deliveries').selectAll().orderBy('created_at').execute()
    expect(deliveries.map(({ status, event }) => [status, event])).toEqual([
      ['sent', 'raised'],
      ['sent', 'resolved'],
    ])
    expect(JSON.stringify(deliveries)).not.toMatch(secrets)
    const [raised, resolved] = server.posts as [(typeof server.posts)[0], (typeof server.posts)[0]]
    return { alertId, since, raised, resolved, ids: deliveries.map(({ id }) => id) }
  }

  test('Matrix: a message per alert in the room, under a transaction id that a retry keeps', async () => {
    const { raised, resolved, ids } = await story((url) => ({
      ...{ name: 'ops', form: 'matrix', url: originOf(url), room: '!ops:chat.example', token: 't0psecret' },
    }))
    expect([raised, resolved].map(({ method, path }) => `${method} ${path}`)).toEqual(
      ids.map((id) => `PUT /_matrix/client/v3/rooms/!ops%3Achat.example/send/m.room.message/${id}`),
    )
    expect(raised.headers.authorization).toBe('Bearer t0psecret')
    const { body, formatted_body, ...rest } = bodyOf(raised)
    expect(rest).toEqual({ msgtype: 'm.text', format: 'org.matrix.custom.html', 'm.mentions': {} })
    expect(body).toMatch(new RegExp(`^${heading}\n\n[\\s\\S]*\n\nNext command: ${command}$`))
    expect(formatted_body).toMatch(new RegExp(`^<p><strong>${heading}</strong></p>[\\s\\S]*<pre><code>${command}</code></pre>$`))
    expect(bodyOf(resolved)).toMatchObject({ msgtype: 'm.notice', body: expect.stringMatching(/^Resolved: [\s\S]*the fence was lifted/) })
  })

  test('Slack: one text', async () => {
    const { raised, resolved, alertId } = await story((url) => ({ name: 'ops', form: 'slack', url }))
    expect(`${raised.method} ${raised.path}`).toBe('POST /hook/t0psecretpath')
    expect(Object.keys(bodyOf(raised))).toEqual(['text'])
    expect(bodyOf(raised).text).toMatch(new RegExp(`^\\*${heading}\\*\n[\\s\\S]*\nAlert: ${alertId}\n\`\`\`${command}\`\`\`$`))
    expect(bodyOf(resolved).text).toMatch(/^\*Resolved: /)
  })

  test('ntfy: JSON to the server, with the topic of the address', async () => {
    const { raised, resolved } = await story((url) => ({ name: 'ops', form: 'ntfy', url: `${originOf(url)}/alerts`, token: 't0psecret' }))
    expect(`${raised.method} ${raised.path}`).toBe('POST /')
    expect(raised.headers.authorization).toBe('Bearer t0psecret')
    const { message, ...rest } = bodyOf(raised)
    expect(rest).toEqual({ topic: 'alerts', title: heading, priority: 5, tags: ['rotating_light'] })
    expect(message).toMatch(new RegExp(`\n\n${command}$`))
    expect(bodyOf(resolved)).toMatchObject({ title: expect.stringMatching(/^Resolved/), priority: 3 })
  })

  test('PagerDuty: the alert triggers an incident, and its end resolves the same', async () => {
    const { raised, resolved, alertId, since } = await story((url) => ({
      name: 'on-call',
      form: 'pagerduty',
      url,
      routingKey: 't0psecret',
    }))
    const key = { routing_key: 't0psecret', dedup_key: `tenantry/tenantry.example/${alertId}` }
    expect(bodyOf(raised)).toEqual({
      ...key,
      ...{ event_action: 'trigger', client: 'Tenantry', client_url: 'https://tenantry.example' },
      payload: {
        ...{ summary: heading, source: 'north', severity: 'critical', timestamp: since, class: 'fence_stuck' },
        custom_details: { alert: alertId, about: 'north', details: stuck.body, command, count: 1 },
      },
    })
    expect(bodyOf(resolved)).toEqual({ ...key, event_action: 'resolve' })
  })

  test('a service that fails is retried under one id, and its error has no secret', async () => {
    const [db, server] = [await fresh(), await webhookServer({ status: 503, body: 't0psecret' }, { status: 200 })]
    const channel = { name: 'ops', form: 'slack', url: server.url } as const
    const { deps, clock, drain, raise } = await alertsWorld(db, { channels: [channel] })
    const id = await raise(stuck)
    await drain()
    const lastError = `the channel ops at ${originOf(server.url)} answered 503`
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ channel: 'slack', target: 'ops', status: 'pending', lastError }])
    await clock.advance(5000)
    await drain()
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'sent', attempts: 2 }])
    await clock.advance(3_600_000)
    await drain()
    expect(server.posts).toHaveLength(2)
  })

  test('an alert that closes while its message is retried is reported once, as resolved', async () => {
    const [db, server] = [await fresh(), await webhookServer({ status: 503 }, { status: 503 }, { status: 200 })]
    const { deps, clock, drain, raise } = await alertsWorld(db, { channels: [{ name: 'ops', form: 'slack', url: server.url }] })
    const id = await raise(stuck)
    await drain()
    await db.transaction().execute((tx) => closeAlerts(tx, clock, { subject: 'north', because: 'the fence was lifted' }))
    for (let round = 0; round < 5; round++) {
      await drain()
      await clock.advance(60_000)
    }
    expect(server.posts.map((post) => String(bodyOf(post).text).split(':')[0])).toEqual(['*CRITICAL', '*Resolved', '*Resolved'])
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'sent' }])
  })

  test('redirects are not followed', async () => {
    const [db, elsewhere] = [await fresh(), await webhookServer()]
    const server = await webhookServer({ status: 307, headers: { location: elsewhere.url } })
    const { drain, raise } = await alertsWorld(db, { channels: [{ name: 'ops', form: 'slack', url: server.url }] })
    await raise(stuck)
    await drain()
    expect([server.posts.length, elsewhere.posts.length]).toEqual([1, 0])
  })

  test('a test of one channel leaves no incident open, and names an unknown channel', async () => {
    const [db, server] = [await fresh(), await webhookServer({ status: 202 })]
    const onCall = { name: 'on-call', form: 'pagerduty', url: server.url, routingKey: 't0psecret' } as const
    const { deps } = await alertsWorld(db, { channels: [onCall, { name: 'ops', form: 'slack', url: server.url }] })
    const run = (channel: string) => testAlerts({ ...deps, random: systemRandom }, anna, { channel })
    expect(await run('on-call')).toEqual({
      tried: [{ channel: 'pagerduty', target: 'on-call', ok: true, says: `${originOf(server.url)} answered 202` }],
    })
    expect(server.posts.map((post) => bodyOf(post).event_action)).toEqual(['trigger', 'resolve'])
    expect(new Set(server.posts.map((post) => bodyOf(post).dedup_key)).size).toBe(1)
    await expect(run('other')).rejects.toThrow('channel other is not configured. fix: tenantry alerts channels')
  })

  test('a secret in a file is read for each message, so that a new one needs no restart', async () => {
    const [db, server] = [await fresh(), await webhookServer({ status: 200 })]
    const file = join(await mkdtemp(join(tmpdir(), 'tenantry-token-')), 'token')
    const channel: ChannelSettings = { name: 'ops', form: 'matrix', url: originOf(server.url), room: '!ops:chat.example', tokenFile: file }
    const { deps } = await alertsWorld(db, { channels: [channel] })
    const run = async () => (await testAlerts({ ...deps, random: systemRandom }, anna, {})).tried[0]
    for (const token of ['first', 'second']) {
      await writeFile(file, `${token}\n`)
      await run()
      expect(server.posts.at(-1)?.headers.authorization).toBe(`Bearer ${token}`)
    }
    await assertChannelFiles([channel])
    await writeFile(file, 'two\nlines')
    expect(await run()).toMatchObject({ ok: false, says: expect.stringContaining(`${file} is empty or has more than one line. fix: `) })
    await rm(file)
    const refused = await assertChannelFiles([channel]).catch((error) => error)
    expect(isProblem(refused, 'CONFIG_INVALID')).toBe(true)
    expect(refused.message).toMatch(/^alerts\.channels \(ops\), tokenFile: .* cannot be read \(ENOENT\)\. fix: /)
  })
})
