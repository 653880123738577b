import { expect, test } from 'vitest'
import { raiseAlert } from '../../../src/daemon/alerts/index.ts'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { systemClock } from '../../../src/node/index.ts'
import { stuck } from '../../support/alerts-world.ts'
import { aRunningDaemon, clientOf, loggedIn } from '../../support/running-daemon.ts'
import { proven, webhookSecret, webhookServer } from '../../support/webhook-server.ts'

/** A channel that gets alerts of frozen hosts alone. */
const listed = (url: string) => ({
  TENANTRY_ALERTS_CHANNELS: JSON.stringify([{ name: 'ops', form: 'slack', url }]),
  TENANTRY_ALERTS_RULES: JSON.stringify({ ops: { kinds: ['host_frozen'] } }),
})

test('a running daemon delivers alerts, tests its channels and lists both over the API', async () => {
  const hook = await webhookServer()
  const env = { TENANTRY_ALERTS_WEBHOOK_URL: hook.url, TENANTRY_ALERTS_WEBHOOK_SECRET: webhookSecret, ...listed(hook.url) }
  const daemon = await aRunningDaemon({ env })
  try {
    const { alerts } = clientOf(daemon.url, await loggedIn(daemon, 'operator'))
    expect(await alerts.testAlerts({ body: {} })).toMatchObject({
      tried: [
        { channel: 'webhook', ok: true },
        { channel: 'slack', target: 'ops', ok: true },
      ],
    })
    const tests = hook.posts.splice(0)
    expect(tests).toHaveLength(2)
    const signed = tests.find(({ headers }) => headers['webhook-id'] !== undefined)
    expect(proven(signed as never)).toMatchObject({ type: 'alert.test', data: { command: 'tenantry alerts list' } })

    const { db, close } = openDatabase(daemon.config.databaseUrl)
    const id = await db.transaction().execute((tx) => raiseAlert(tx, systemClock, stuck))
    await close()
    await expect.poll(() => hook.posts.length).toBe(1)
    expect(proven(hook.posts[0] as never)).toMatchObject({ data: { alertId: id, daemon: daemon.config.baseUrl } })
    await expect.poll(async () => (await alerts.getAlert({ params: { id } })).alert.deliveries.sent).toBe(1)
    const { channels } = await alerts.listAlertChannels({})
    expect(channels).toMatchObject([
      { name: 'webhook', last: { status: 'sent', error: null } },
      { name: 'ops', channel: 'slack', quietHours: null, kinds: ['host_frozen'], timeZone: 'UTC', last: null },
    ])
    expect(JSON.stringify(channels)).not.toContain('t0psecret')
    expect(await alerts.acknowledgeAlert({ params: { id } })).toMatchObject({ alert: { acknowledgedBy: 'admin:the-operator' } })
    expect(await alerts.listAlerts({ query: { status: 'open' } })).toEqual({ alerts: [], nextCursor: null, deadLetters: [] })
  } finally {
    await daemon.close()
  }
})
