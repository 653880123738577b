import { isoNow, newId, type TenantId, type UserId } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import type { Mail } from '../../../src/daemon/mail/mail.ts'
import { recordMonthlyUsage } from '../../../src/daemon/modules/index.ts'
import { receiveEvent } from '../../../src/daemon/payments/events.ts'
import { type BillingDeps, openActiveUsers, paymentsFeature } from '../../../src/daemon/payments/index.ts'
import { changeTenant } from '../../../src/daemon/tenants/index.ts'
import { aPaymentsWorld } from './payments-world.ts'
import { type DoubleEvent, signedEvent } from './provider-double.ts'

type Options = Parameters<typeof aPaymentsWorld>[1] & Readonly<{ transferPayouts?: boolean; deps?: Partial<BillingDeps> }>

const dayMs = 24 * 60 * 60_000

export const perUser = { priceModel: 'per-active-user', priceCents: 150 } as const

/** The world of a tenant that uninstalled an item with a price per user; three users had used it. */
export async function aUsedItem(db: Db) {
  const room = await aBillingWorld(db, perUser)
  await room.install()
  await room.active(3)
  await room.uninstall()
  await room.runJobs()
  return room
}

/** Payments of the tenant `acme` with its billing: users become active, months pass, crons run. A second call of `again` is a second replica. */
export async function aBillingWorld(db: Db, { transferPayouts = false, deps: changed = {}, ...options }: Options = {}) {
  const room = await aPaymentsWorld(db, options)
  const { clock, double } = room
  const mails: Mail[] = []
  const modules = new Map<string, NonNullable<Awaited<ReturnType<BillingDeps['pricedModule']>>>>()
  const windows = { timeZone: 'UTC', windows: loadConfig({ env: {} }).windows }
  const replica = () => ({
    ...room.deps,
    ...{ mailer: { send: async (mail: Mail) => String(mails.push(mail)) }, transferPayouts, activeUsers: openActiveUsers(room.deps) },
    pricedModule: async (_: unknown, { moduleId }: Readonly<{ moduleId: string }>) => modules.get(moduleId),
    changeTenant: (actor: Parameters<typeof changeTenant>[1], change: Parameters<typeof changeTenant>[2]) =>
      changeTenant({ ...room.deps, windows }, actor, change),
    ...changed,
  })
  const deps = replica()
  const jobs = { ...paymentsFeature.jobs?.(deps), ...room.jobs }
  const runJobs = async () => {
    for (;;) {
      const due = await db.selectFrom('jobs').selectAll().where('next_at', '<=', isoNow(clock)).orderBy('id').execute()
      const [job] = due.filter(({ topic }) => topic in jobs)
      if (!job) return
      await db.deleteFrom('jobs').where('id', '=', job.id).execute()
      await jobs[job.topic]?.(JSON.parse(job.payload), { last: false })
    }
  }
  /** Runs a cron and the jobs that it enqueues. Returns its summary, or those of its jobs. A job that throws stays in its queue. */
  const run = async (key: string, of = deps): Promise<string> => {
    const summaries: string[] = []
    const info = (_: unknown, summary?: string) => void summaries.push(summary ?? '')
    const logged = { ...of, log: { ...of.log, info } as typeof of.log }
    const cron = paymentsFeature.crons?.(logged).find((one) => one.key === key)
    if (!cron) throw new Error(`no cron ${key}`)
    const answer = await cron.run({ signal: new AbortController().signal })
    const topics = [
      ...(answer.match(/(?<=--topic )[\w.-]+/) ?? []),
      'billing.unbilled-modules',
      'billing.unsent-reports',
      'billing.statements',
    ]
    const handlers = paymentsFeature.jobs?.(logged)
    for (;;) {
      const due = db.selectFrom('jobs').selectAll().where('next_at', '<=', isoNow(clock)).where('topic', 'in', topics)
      const job = await due.orderBy('id').executeTakeFirst()
      if (!job) return summaries.join('; ') || answer
      try {
        await handlers?.[job.topic]?.(JSON.parse(job.payload), { last: false })
      } catch (error) {
        return `${summaries.join('; ')}; ${(error as Error).message}`
      }
      await db.deleteFrom('jobs').where('id', '=', job.id).execute()
    }
  }
  let taken = 0
  /** Sends the events of the provider since the last call, and runs all jobs. */
  const deliver = async () => {
    const fresh = double.events().slice(taken)
    taken += fresh.length
    for (const event of fresh) await send(event)
    await runJobs()
  }
  const send = (event: DoubleEvent) => {
    const endpoint = event.type.startsWith('v1.') ? 'thin' : event.type === 'account.updated' ? 'connect' : 'platform'
    const { body, signature } = signedEvent(event, { now: clock.now(), endpoint })
    return receiveEvent(room.deps, { raw: { readBody: async () => body }, signature })
  }
  const crons = ['billing-usage-aggregation', 'marketplace-monthly-billing', 'billing-developer-payouts', 'billing-period-end-warning']
  return {
    ...room,
    ...{ deps, jobs, runJobs, run, deliver, send, mails, modules, replica },
    /** Users call the platform at the present time. */
    active: async (count: number, from = 0, tenantId = 'ten_acme') => {
      for (let nth = from; nth < from + count; nth++)
        deps.activeUsers.record({ tenantId: tenantId as TenantId, userId: `usr_${tenantId}_${nth}` as UserId })
      await deps.activeUsers.flush()
    },
    /** Moves the clock day by day; events arrive, and crons run at their times. */
    until: async (at: string, isUp: (at: string) => boolean = () => true) => {
      const due = (paymentsFeature.crons?.(deps) ?? []).filter(({ key }) => crons.includes(key))
      let missed = new Set<string>()
      for (;;) {
        const now = clock.now()
        const times = due.map((cron) => ({ cron, at: cron.nextAfter(now) as Date }))
        const next = Math.min(Date.parse(at), now.getTime() + 4 * dayMs, ...times.map((one) => one.at.getTime()))
        await clock.advance(next - now.getTime())
        for (const one of times) if (one.at.getTime() <= next) missed.add(one.cron.key)
        if (isUp(isoNow(clock))) {
          await deliver()
          for (const { key } of due) if (missed.has(key)) await run(key)
          missed = new Set()
          await runJobs()
        }
        if (next >= Date.parse(at)) return
      }
    },
    /** A paid module of the developer `dev_1` that is active. */
    module: async (moduleId: string, cents: number, tenantId = 'ten_acme') => {
      modules.set(moduleId, { name: moduleId, developerId: 'dev_1', price: { cents, currency: 'eur' } })
      const now = isoNow(clock)
      await db
        .insertInto('module_installations')
        .values({
          ...{ tenant_id: tenantId, module_id: moduleId, version: '1.0.0', status: 'active', paused: 0, permissions: '[]' },
          ...{ feature_flag: moduleId, settings: '{}', generation: 1, data_generation: 1, data_version: 0, data_bytes: 0 },
          ...{ busy_until: null, former: null, former_until: null, remote: null, upstream_host: null, installed_at: now },
          ...{ activated_at: now, data_delete_at: null, updated_at: now },
        })
        .execute()
      await recordMonthlyUsage({ db, clock })
    },
    developer: async (vendorId: string | null = 'ven_1') => {
      await db
        .insertInto('store_developers')
        .values({
          ...{ id: 'dev_1', tenant_id: 'ten_acme', user_id: null, email: 'd@dev.example', name: 'Dev', organization: 'Dev', verified: 1 },
          created_at: isoNow(clock),
        })
        .execute()
      if (vendorId !== null) await db.insertInto('billing_developers').values({ developer_id: 'dev_1', vendor_id: vendorId }).execute()
    },
    alerts: async () =>
      (await db.selectFrom('alerts').select(['kind', 'status']).orderBy('id').execute()).map(({ kind, status }) => `${kind} ${status}`),
    reports: () => db.selectFrom('billing_reports').selectAll().orderBy('event_at').execute(),
    usage: () => db.selectFrom('billing_usage').selectAll().orderBy('month').orderBy('module_id').execute(),
    payouts: () => db.selectFrom('billing_payouts').selectAll().orderBy('month').execute(),
    id: () => newId(room.deps.random, 'x'),
  }
}
