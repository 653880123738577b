import { expect, test } from 'vitest'
import { deliverHandler } from '../../../src/daemon/alerts/alerts.jobs.ts'
import { closeAlerts } from '../../../src/daemon/alerts/index.ts'
import { acknowledgeAlert } from '../../../src/daemon/alerts/operator-actions.ts'
import { showAlert } from '../../../src/daemon/alerts/read-alerts.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { overdueAlert } from '../../../src/daemon/flows/runs/run-alerts.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { alertsWorld, anna, restored, stuck } from '../../support/alerts-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { smtpServer } from '../../support/smtp-server.ts'
import { stopped } from '../../support/stopped-clock.ts'
import { proven, webhookServer } from '../../support/webhook-server.ts'

const both = ['ops@school.example', 'anna@school.example']
const everything = async (db: Db) =>
  JSON.stringify([
    await db.selectFrom('alerts').selectAll().execute(),
    await db.selectFrom('alert_deliveries').selectAll().execute(),
    await db.selectFrom('jobs').selectAll().execute(),
    await db.selectFrom('events').selectAll().execute(),
  ])

const subjectOf = (post: Parameters<typeof proven>[0]) => (proven(post) as { data: { subject: string } }).data.subject

onBothDialects('alert delivery', (fresh) => {
  test('two concurrent replicas send one message per recipient', async () => {
    const [db, mail, hook] = [await fresh(), await smtpServer(), await webhookServer()]
    const { drain, raise } = await alertsWorld(db, { smtp: mail.url, mailTo: both, webhook: hook.url })
    await raise(stuck)
    await raise(restored(1))
    await Promise.all([drain(), drain(), drain()])
    expect(mail.received.map(({ to }) => to[0]).toSorted()).toEqual([...both, ...both].toSorted())
    expect(hook.posts.map(({ headers }) => headers['webhook-id'])).toHaveLength(2)
    expect(new Set(hook.posts.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('when 1,000 boxes fail, 20 alerts are sent one by one and the others are folded into one message', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { clock, drain, raise, jobDeps, deps } = await alertsWorld(db, { webhook: hook.url })
    const boxes = 60
    for (let n = 1; n <= boxes; n++) await raise(restored(n))
    await drain()
    const subjects = hook.posts.map(subjectOf)
    expect(subjects.filter((subject) => subject === 'north')).toHaveLength(20)
    expect(subjects.filter((subject) => subject === 'many alerts')).toHaveLength(1)
    const rows = await db.selectFrom('alerts').select(['id', 'key', 'count', 'status']).orderBy('id').execute()
    expect(rows).toHaveLength(boxes + 1) // none is lost: each is listed
    expect(rows.find(({ key }) => key === 'many:update_failed')).toMatchObject({ status: 'open', count: boxes - 20 })
    const many = rows.find(({ key }) => key === 'many:update_failed')
    expect(await showAlert(deps, { id: Number(rows[20]?.id) })).toMatchObject({ deliveries: [], summaryId: Number(many?.id) })
    expect((await showAlert(deps, { id: Number(rows[0]?.id) })).summaryId).toBeUndefined()
    await jobDeps.handlers['alerts.tell']?.({ alertId: rows[0]?.id }, { last: false })
    await raise(stuck)
    await drain()
    expect(subjectOf(hook.posts.at(-1) as never)).toBe('north') // another kind is told by itself meanwhile
    expect(hook.posts).toHaveLength(22)
    await clock.advance(deps.repeatAfterMs)
    await raise(restored(boxes + 1))
    await drain()
    expect(hook.posts).toHaveLength(23) // and so is this kind, once it is quiet again
  })

  test('alerts that the boards of one tenant raise are folded by tenant, and silence no other', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    const overdue = (slug: string, n: number) => overdueAlert({ slug, runId: `run_${slug}${n}`, isWhole: true, elements: [] })
    for (let n = 0; n < 25; n++) await raise(overdue('noisy', n))
    await drain()
    expect(hook.posts.map(subjectOf).filter((subject) => subject === 'noisy')).toHaveLength(1)
    await clock.advance(600_000)
    await raise(overdue('north', 1))
    await raise(overdue('noisy', 25))
    await drain()
    expect(hook.posts.slice(21).map(subjectOf)).toEqual(['north/run_north1'])
  })

  test('the webhook is signed, and the mail ends with the command', async () => {
    const [mail, hook] = [await smtpServer(), await webhookServer()]
    const { drain, raise } = await alertsWorld(await fresh(), { smtp: mail.url, mailTo: ['ops@school.example'], webhook: hook.url })
    const alertId = await raise(stuck)
    await drain()
    const command = 'tenantry boxes show north'
    expect(proven(hook.posts[0] as never)).toMatchObject({
      type: 'alert.raised',
      data: { alertId, kind: 'fence_stuck', severity: 'critical', subject: 'north', command, daemon: 'https://tenantry.example' },
    })
    expect(mail.received[0]?.message).toMatch(/^Subject: CRITICAL: north has been in maintenance too long$/m)
    expect(mail.received[0]?.message.trim().endsWith(command)).toBe(true)
  })

  test('a webhook on a forbidden port fails with a reason that hides the path', async () => {
    const db = await fresh()
    const { drain, raise, deps } = await alertsWorld(db, { webhook: 'http://127.0.0.1:6667/hunter2' })
    const alertId = await raise(stuck)
    await drain()
    const [told] = (await showAlert(deps, { id: alertId })).deliveries
    expect(told?.lastError).toMatch(
      /^the webhook at http:\/\/127\.0\.0\.1:6667 cannot be called: port 6667 is reserved for another protocol/,
    )
    expect(told?.lastError).not.toContain('hunter2')
  })

  test('a replica that dies between sending and recording sends again under the same id', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { jobDeps, deps, clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    await raise(stuck)
    // A process that is killed notes nothing: its work stays leased.
    const killed = deliverHandler({
      ...deps,
      send: async (...message) => {
        await deps.send(...message)
        return new Promise<never>(() => undefined)
      },
    })
    void drainJobs({ ...jobDeps, clock: stopped(clock), handlers: { ...jobDeps.handlers, 'alerts.deliver': killed } })
    await expect.poll(() => hook.posts.length).toBe(1)
    await drain()
    expect(hook.posts).toHaveLength(1)
    await clock.advance(60_000)
    await drain()
    expect(hook.posts).toHaveLength(2)
    expect(hook.posts[1]?.headers['webhook-id']).toBe(hook.posts[0]?.headers['webhook-id'])
    await clock.advance(3_600_000)
    await drain()
    expect(hook.posts).toHaveLength(2)
  })

  test('a replica that dies after creating messages does not create them twice', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { jobDeps, drain, raise, deps } = await alertsWorld(db, { webhook: hook.url })
    const alertId = await raise(stuck)
    await jobDeps.handlers['alerts.tell']?.({ alertId }, { last: false })
    await Promise.all([drain(), drain()])
    expect(hook.posts).toHaveLength(1)
    expect((await showAlert(deps, { id: alertId })).deliveries).toHaveLength(1)
  })

  test('a webhook that answers 500, then 204, gets the message once and the error is cleared', async () => {
    const [db, hook] = [await fresh(), await webhookServer({ status: 500 }, { status: 204 })]
    const { deps, clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    const id = await raise(stuck)
    await drain()
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([
      { status: 'pending', attempts: 1, lastError: `the webhook at ${new URL(hook.url).origin} answered 500`, sentAt: null },
    ])
    await clock.advance(5000)
    await drain()
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'sent', attempts: 2, lastError: null }])
    await clock.advance(3_600_000)
    await drain()
    expect(hook.posts).toHaveLength(2)
  })

  test('a mail server that was down gets each mail once', async () => {
    const [db, mail] = [await fresh(), await smtpServer()]
    await mail.close()
    const { clock, drain, raise } = await alertsWorld(db, { smtp: mail.url, mailTo: both })
    await raise(stuck)
    await drain()
    const again = await smtpServer({ port: mail.port })
    await clock.advance(5000)
    await drain()
    await clock.advance(60_000)
    await drain()
    expect(again.received.flatMap(({ to }) => to).toSorted()).toEqual(both.toSorted())
  })

  test('an unreachable recipient does not delay the others', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { deps, drain, raise } = await alertsWorld(db, { smtp: 'smtp://127.0.0.1:1', mailTo: ['ops@school.example'], webhook: hook.url })
    const id = await raise(stuck)
    await drain()
    expect((await showAlert(deps, { id })).deliveries.map(({ channel, status }) => [channel, status])).toEqual([
      ['mail', 'pending'],
      ['webhook', 'sent'],
    ])
  })

  test('after twelve attempts a message is dead, with its reason, and is not retried', async () => {
    const [db, hook] = [await fresh(), await webhookServer({ status: 302, headers: { location: 'https://evil.example/' } })]
    const { deps, drainAll, raise } = await alertsWorld(db, { webhook: hook.url })
    const id = await raise(stuck)
    await drainAll()
    expect(hook.posts).toHaveLength(12)
    const { alert, deliveries } = await showAlert(deps, { id })
    expect(deliveries).toMatchObject([{ status: 'dead', attempts: 12, lastError: expect.stringContaining('answered 302') }])
    expect(alert.deliveries).toEqual({ pending: 0, sent: 0, dead: 1 })
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('a message interrupted by shutdown is not dead, even on its last attempt', async () => {
    const [db, hook] = [await fresh(), await webhookServer({ status: 500 })]
    const { deps, jobDeps, clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    const id = await raise(stuck)
    await drain()
    await db.updateTable('jobs').set({ attempts: 11 }).execute()
    await clock.advance(5000)
    const ending = new AbortController()
    const handlers = { ...jobDeps.handlers, 'alerts.deliver': cutOff(jobDeps.handlers['alerts.deliver'], ending) }
    await drainJobs({ ...jobDeps, handlers }, ending.signal)
    expect((await showAlert(deps, { id })).deliveries).toMatchObject([{ status: 'pending' }])
    expect(await db.selectFrom('jobs').select('status').execute()).toEqual([{ status: 'queued' }])
  })

  test('an occurrence within the hour is only counted; a later one is sent with the count', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    await raise(stuck)
    await drain()
    await clock.advance(1_800_000)
    await raise(stuck)
    await drain()
    expect(hook.posts).toHaveLength(1)
    await clock.advance(1_800_000)
    await raise(stuck)
    await drain()
    expect(hook.posts.map((post) => (proven(post) as { data: { count: number } }).data.count)).toEqual([1, 3])
    expect(hook.posts[0]?.headers['webhook-id']).not.toBe(hook.posts[1]?.headers['webhook-id'])
  })

  test('after an acknowledgement an occurrence raises a new alert, except for a standing one', async () => {
    const [db, hook] = [await fresh(), await webhookServer()]
    const { deps, clock, drain, raise } = await alertsWorld(db, { webhook: hook.url })
    const [fence, first] = [await raise(stuck), await raise(restored(1))]
    await drain()
    for (const id of [fence, first]) await acknowledgeAlert(deps, anna, { id })
    await clock.advance(7_200_000)
    expect(await raise(stuck)).toBe(fence)
    expect(await raise(restored(1))).not.toBe(first)
    await drain()
    expect(hook.posts.map((post) => (proven(post) as { data: { kind: string } }).data.kind)).toEqual([
      'fence_stuck',
      'update_failed',
      'update_failed',
    ])
  })

  test('an alert closed before it was sent is sent as resolved', async () => {
    const [db, hook, mail] = [await fresh(), await webhookServer(), await smtpServer()]
    const { clock, drain, raise } = await alertsWorld(db, { webhook: hook.url, smtp: mail.url, mailTo: ['ops@school.example'] })
    await raise(stuck)
    await db.transaction().execute((tx) => closeAlerts(tx, clock, { subject: 'north', because: 'the fence was lifted' }))
    await drain()
    expect(proven(hook.posts[0] as never)).toMatchObject({ data: { status: 'closed' } })
    expect(mail.received[0]?.message).toMatch(/^Subject: Resolved: north has been in maintenance/m)
    expect(mail.received[0]?.message).toContain('the fence was lifted')
  })

  test('without recipients the alert is stored and nothing is sent', async () => {
    const db = await fresh()
    const { deps, drain, raise } = await alertsWorld(db, {})
    const id = await raise(stuck)
    await drain()
    expect(await showAlert(deps, { id })).toMatchObject({ alert: { status: 'open' }, deliveries: [] })
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('neither rows nor messages contain a secret', async () => {
    const [db, mail] = [await fresh(), await smtpServer()]
    mail.behave({ auth: '535 wrong: hunter2' })
    const hook = await webhookServer({ status: 500, body: 'our secret is hunter2' })
    const smtp = mail.url.replace('//', '//tenantry:hunter2@')
    const { drain, raise } = await alertsWorld(db, { smtp, mailTo: ['ops@school.example'], webhook: hook.url })
    await raise(stuck)
    await drain()
    const kept = await everything(db)
    expect(kept).toContain('535 wrong: [secret]')
    expect(kept).not.toMatch(/hunter2|t0psecretpath|whsec_/)
    expect(hook.posts[0]?.text).not.toMatch(/hunter2|t0psecretpath|whsec_/)
  })
})

/** Ends the process in the middle of the work. */
const cutOff =
  (handler: ((payload: unknown, attempt: { last: boolean; signal?: AbortSignal }) => Promise<void>) | undefined, ending: AbortController) =>
  (payload: unknown, attempt: { last: boolean }) => {
    ending.abort()
    return handler?.(payload, { ...attempt, signal: ending.signal }) ?? Promise.resolve()
  }
