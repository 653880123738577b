import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { alertMetrics, closeAlerts, deleteOldAlerts } from '../../../src/daemon/alerts/index.ts'
import { acknowledgeAlert, resendAlert, testAlerts } from '../../../src/daemon/alerts/operator-actions.ts'
import { listAlerts, showAlert } from '../../../src/daemon/alerts/read-alerts.ts'

import { listAudit } from '../../../src/daemon/audit/read-audit.ts'
import { type Db, enqueueJob } from '../../../src/daemon/db/index.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { retryJobs } from '../../../src/daemon/work/testing.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { alertsWorld, anna, restored, stuck } from '../../support/alerts-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { smtpServer } from '../../support/smtp-server.ts'
import { webhookServer } from '../../support/webhook-server.ts'

const dayMs = 86_400_000
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => (isProblem(error) ? error.code : error),
  )
const actions = async (db: Db) =>
  (await listAudit({ db }, { chain: 'admin', limit: 50 })).entries.map(({ action, actor }) => [action, actor])

onBothDialects('operator actions on alerts', (fresh) => {
  test('the list is paged, latest occurrence first, filtered by status, kind and subject', async () => {
    const db = await fresh()
    const { clock, raise, deps } = await alertsWorld(db, {})
    const ids: number[] = []
    for (const attempt of [1, 2, 3, 4]) {
      ids.push(await raise(restored(attempt)))
      await clock.advance(attempt === 2 ? 0 : 1000) // two of them in the same moment
    }
    await raise({ ...stuck, subject: 'south', key: 'fence_stuck:south' })
    const first = await listAlerts({ db }, { limit: 3, kind: 'update_failed' })
    expect(first.alerts.map(({ id }) => id)).toEqual([ids[3], ids[2], ids[1]])
    const second = await listAlerts({ db }, { limit: 3, kind: 'update_failed', cursor: first.nextCursor as string })
    expect([second.alerts.map(({ id }) => id), second.nextCursor]).toEqual([[ids[0]], null])
    expect((await listAlerts({ db }, { limit: 9, subject: 'south' })).alerts).toMatchObject([{ kind: 'fence_stuck' }])
    await acknowledgeAlert(deps, anna, { id: ids[0] as number })
    expect((await listAlerts({ db }, { limit: 9, status: 'open' })).alerts).toHaveLength(4)
    expect(await codeOf(listAlerts({ db }, { limit: 3, cursor: 'x' }))).toBe('VALIDATION')
  })

  test('resend takes a message that is pending although its job is abandoned, which is then no longer listed as dead', async () => {
    const [db, hook] = [await fresh(), await webhookServer({ status: 500 }, { status: 204 })]
    const { deps, clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    const id = await raise(stuck)
    await drain()
    expect(await codeOf(resendAlert(deps, anna, { id, which: 'dead' }))).toBe('CONFLICT')
    await db.updateTable('jobs').set({ status: 'dead' }).where('topic', '=', 'alerts.deliver').execute()
    const other = { topic: 'alerts.deliver', payload: { deliveryId: 'msg_other' }, key: 'msg_other' }
    await db.transaction().execute((tx) => enqueueJob(tx, clock, other))
    await db.updateTable('jobs').set({ status: 'dead' }).where('key', '=', 'msg_other').execute()
    await resendAlert(deps, anna, { id, which: 'dead' })
    await clock.advance(60_000)
    await drain()
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'sent' }])
    expect(await db.selectFrom('jobs').select(['key', 'status']).execute()).toEqual([{ key: 'msg_other', status: 'dead' }])
  })

  test('acknowledge records who, once; a closed or unknown alert is refused', async () => {
    const db = await fresh()
    const { deps, clock, raise } = await alertsWorld(db, {})
    const id = await raise(stuck)
    expect(await showAlert(deps, { id })).toMatchObject({ deliveries: [], hasChannels: deps.channels.length > 0 })
    expect(await showAlert({ ...deps, channels: [] }, { id })).toMatchObject({ hasChannels: false })
    const at = clock.now().toISOString()
    expect(await acknowledgeAlert(deps, anna, { id })).toMatchObject({ alert: { status: 'acknowledged', acknowledgedBy: 'admin:anna' } })
    await clock.advance(1000)
    expect(await acknowledgeAlert(deps, { ...anna, name: 'ben' }, { id })).toMatchObject({
      alert: { acknowledgedBy: 'admin:anna', acknowledgedAt: at },
    })
    expect(await actions(db)).toEqual([['alert.acknowledged', 'admin:anna']])
    await db.transaction().execute((tx) => closeAlerts(tx, clock, { subject: 'north', because: 'the fence was lifted' }))
    expect(await codeOf(acknowledgeAlert(deps, anna, { id }))).toBe('CONFLICT')
    expect(await codeOf(acknowledgeAlert(deps, anna, { id: 9999 }))).toBe('NOT_FOUND')
  })

  test('resend retries a dead message under its id, and no sent one', async () => {
    const [db, hook] = [await fresh(), await webhookServer(...Array.from({ length: 12 }, () => ({ status: 500 })), { status: 204 })]
    const { deps, drain, drainAll, raise } = await alertsWorld(db, { webhook: hook.url })
    const id = await raise(stuck)
    await drainAll()
    expect(await resendAlert(deps, anna, { id, which: 'dead' })).toMatchObject({ deliveries: [{ status: 'pending', attempts: 0 }] })
    await drain()
    expect(hook.posts).toHaveLength(13)
    expect(new Set(hook.posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'sent' }])
    expect(await codeOf(resendAlert(deps, anna, { id, which: 'dead' }))).toBe('CONFLICT')
    expect(await actions(db)).toEqual([['alert.resent', 'admin:anna']])
  })

  test('resend --all creates new messages for every configured recipient', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { deps, clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    const id = await raise(stuck)
    await drain()
    await clock.advance(3_600_000)
    await resendAlert(deps, anna, { id, which: 'all' })
    await raise(stuck)
    await drain()
    expect(new Set(hook.posts.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
    expect(hook.posts).toHaveLength(2)
    expect(await codeOf(resendAlert({ ...deps, channels: [] }, anna, { id, which: 'all' }))).toBe('CONFIG')
  })

  test('a message to a recipient that is no longer configured is not sent', async () => {
    const db = await fresh()
    const { deps, raise } = await alertsWorld(db, { mailTo: ['old@school.example'] })
    const id = await raise(stuck)
    const world = await alertsWorld(db, { mailTo: ['new@school.example'] })
    await drainJobs({
      ...world.jobDeps,
      handlers: { 'alerts.tell': (await alertsWorld(db, { mailTo: ['old@school.example'] })).jobDeps.handlers['alerts.tell'] as never },
    })
    await world.clock.advance(60_000)
    await world.drain()
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([
      { status: 'pending', lastError: 'old@school.example is no longer configured as a recipient' },
    ])
  })

  test('a test message uses every channel, reports each result, and creates no alert', async () => {
    const [db, mail, hook] = [await fresh(), await smtpServer(), await webhookServer({ status: 403 })]
    const { deps } = await alertsWorld(db, { smtp: mail.url, mailTo: ['ops@school.example'], webhook: hook.url })
    const { tried } = await testAlerts({ ...deps, random: systemRandom }, anna, {})
    expect(tried).toEqual([
      { channel: 'mail', target: 'ops@school.example', ok: true, says: 'accepted by 127.0.0.1' },
      { channel: 'webhook', target: new URL(hook.url).origin, ok: false, says: `the webhook at ${new URL(hook.url).origin} answered 403` },
    ])
    expect(mail.received[0]?.message).toMatch(/^Subject: Info: Test alert/m)
    expect((await listAlerts({ db }, { limit: 9 })).alerts).toEqual([])
    expect(await actions(db)).toEqual([['alerts.tested', 'admin:anna']])
    expect((await testAlerts({ ...deps, random: systemRandom }, anna, { channel: 'mail' })).tried).toHaveLength(1)
    expect(await codeOf(testAlerts({ ...deps, channels: [], random: systemRandom }, anna, {}))).toBe('CONFIG')
  })

  test('without a mail server the test reports the file the mail was written to', async () => {
    const { deps, dataDir } = await alertsWorld(await fresh(), { mailTo: ['ops@school.example'] })
    const { tried } = await testAlerts({ ...deps, random: systemRandom }, anna, {})
    const [file] = await readdir(join(dataDir, 'mail'))
    expect(tried).toMatchObject([{ ok: true, says: `written to ${join(dataDir, 'mail', file as string)}` }])
  })

  test('dead jobs of any feature are listed and can be retried with all attempts', async () => {
    const db = await fresh()
    const { deps, clock, jobDeps, drainAll } = await alertsWorld(db, {})
    const done: unknown[] = []
    await db.transaction().execute((tx) => enqueueJob(tx, clock, { topic: 'audit.checkpoint', payload: { chain: 'admin' } }))
    await drainAll()
    const { deadLetters } = await listAlerts({ db }, { limit: 9 })
    expect(deadLetters).toMatchObject([{ topic: 'audit.checkpoint', attempts: 12, lastError: 'no handler for the topic audit.checkpoint' }])
    const ids = deadLetters.map(({ id }) => id)
    expect(await codeOf(retryJobs(deps, anna, { ids: [9999] }))).toBe('NOT_FOUND')
    expect(await retryJobs(deps, anna, { ids })).toEqual({ retried: 1 })
    expect(await retryJobs(deps, anna, {})).toEqual({ retried: 0 })
    await drainJobs({ ...jobDeps, handlers: { 'audit.checkpoint': async (payload) => void done.push(payload) } })
    expect(done).toEqual([{ chain: 'admin' }])
    expect((await listAlerts({ db }, { limit: 9 })).deadLetters).toEqual([])
    expect(await actions(db)).toEqual([['job.retried', 'admin:anna']])
  })

  test('an alert is deleted with its messages 90 days after it was acknowledged; an open one stays', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { deps, clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    const [seen, open] = [await raise(restored(1)), await raise(stuck)]
    await drain()
    await acknowledgeAlert(deps, anna, { id: seen })
    await clock.advance(90 * dayMs - 1000)
    expect(await deleteOldAlerts(deps)).toBe('0 alerts, 0 dead letters')
    await clock.advance(1000)
    expect(await deleteOldAlerts(deps)).toBe('1 alert, 0 dead letters')
    expect((await listAlerts({ db }, { limit: 9 })).alerts.map(({ id }) => id)).toEqual([open])
    expect((await db.selectFrom('alert_deliveries').select('alert_id').execute()).map(({ alert_id }) => Number(alert_id))).toEqual([open])
  })

  test('metrics count open alerts by severity and unsent messages', async () => {
    const [db, hook] = [await fresh(), await webhookServer({ status: 500 })]
    const registry = new Registry()
    alertMetrics({ db, registry })
    const { drainAll, raise } = await alertsWorld(db, { webhook: hook.url })
    const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('tenantry'))
    expect(await lines()).toContain('tenantry_alert_deliveries{status="dead"} 0')
    await raise(stuck)
    await raise(restored(1))
    await drainAll()
    expect(await lines()).toEqual([
      'tenantry_alerts_open{severity="info"} 0',
      'tenantry_alerts_open{severity="warning"} 1',
      'tenantry_alerts_open{severity="critical"} 1',
      'tenantry_alert_deliveries{status="pending"} 0',
      'tenantry_alert_deliveries{status="held"} 0',
      'tenantry_alert_deliveries{status="dead"} 2',
    ])
  })
})
