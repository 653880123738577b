import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageEnd } from '../../../src/core/contract/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { pageOfAlerts } from '../../../src/daemon/alerts/alerts.repo.ts'
import { channelStates, channelsOf } from '../../../src/daemon/alerts/index.ts'
import { listAudit } from '../../../src/daemon/audit/read-audit.ts'
import { entriesAbout } from '../../../src/daemon/audit/read-record.ts'
import { boxesAfter } from '../../../src/daemon/boxes/boxes.repo.ts'
import { type Db, eventsAfter } from '../../../src/daemon/db/index.ts'
import { filesAfter } from '../../../src/daemon/files/files.repo.ts'
import { commandsOfBox } from '../../../src/daemon/hosts/commands.repo.ts'
import { tenantsBeside } from '../../../src/daemon/limits/busy-tenants.repo.ts'
import { deleteOldSubmissions } from '../../../src/daemon/marketplace/delete-old-submissions.ts'
import { listUsage } from '../../../src/daemon/payments/billing/list-billing.ts'
import { developersToPay } from '../../../src/daemon/payments/billing/make-statement.ts'
import { evidencePage, rolloutsPage } from '../../../src/daemon/rollouts/testing.ts'
import { listSnapshots } from '../../../src/daemon/snapshots/list-snapshots.ts'
import { membersAfter } from '../../../src/daemon/spaces/members.repo.ts'
import { spacesAfter } from '../../../src/daemon/spaces/spaces.repo.ts'
import { tasksFor } from '../../../src/daemon/tasks/user-tasks.repo.ts'
import { listTenants } from '../../../src/daemon/tenants/show-tenants.ts'
import { runsOf } from '../../../src/daemon/work/cron-runs.repo.ts'
import { jobsAfter } from '../../../src/daemon/work/testing.ts'
import { emptyDatabase } from '../../support/databases.ts'

// A page of a list has constant cost: it reads an index range and stops. No list may scan or sort a whole table, because
// tables grow.

const at = '2026-01-05T08:00:00.000Z'
const limit = 50
const sha = 'ab'.repeat(32)
const trust = { staleBefore: at, silentHosts: [], betweenHosts: [] }
const ofNobody = { tenantId: 'ten_1', userId: 'usr_1' }
const reader = { ...ofNobody, roles: [], spaceIds: [], manages: true }
const windows = { timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } }
const place = { tenantId: 'ten_1', spaceId: 'spc_1', limit }
const ofRecord = { slug: 'one', since: at, subject: undefined, limit }
const snapshots = (db: Db) => ({ db, clock: manualClock(), references: [] }) as never

const channels = channelsOf({ mailTo: ['ops@school.example'], channels: [], rules: {} }, 'UTC')

const lists: readonly (readonly [what: string, ask: (db: Db) => Promise<unknown>])[] = [
  ['alerts', (db) => pageOfAlerts(db, { limit })],
  ['channels of alerts', (db) => channelStates({ db, channels })],
  ['alerts, a later page', (db) => pageOfAlerts(db, { limit, before: { lastAt: at, id: 7 } })],
  ['the audit', (db) => listAudit({ db }, { chain: 'admin', limit })],
  ['the audit, a later page', (db) => listAudit({ db }, { chain: 'admin', limit, cursor: 7 })],
  ['the record of a tenant', (db) => entriesAbout(db, ofRecord)],
  ['the record of a tenant, a later page', (db) => entriesAbout(db, { ...ofRecord, cursor: pageEnd({ createdAt: at, id: sha }) })],
  ['jobs', (db) => jobsAfter(db, { after: 0, limit })],
  ['dead jobs', (db) => jobsAfter(db, { state: 'dead', after: 7, limit })],
  ['rollouts', (db) => rolloutsPage(db, { limit })],
  ['the rollout of a key', (db) => rolloutsPage(db, { limit, key: 'admin:anna week-1' })],
  ['rollouts, a later page', (db) => rolloutsPage(db, { limit, after: { createdAt: at, id: 'rol_1' } })],
  ['evidence of a rollout', (db) => evidencePage(db, 'rol_1', { limit })],
  ['snapshots', (db) => listSnapshots(snapshots(db), { limit })],
  ['snapshots, a later page', (db) => listSnapshots(snapshots(db), { limit, cursor: `${at}_${sha}` })],
  ['snapshots of a box', (db) => listSnapshots(snapshots(db), { limit, slug: 'one' })],
  ['boxes', (db) => boxesAfter(db, { limit }, trust)],
  ['boxes, a later page', (db) => boxesAfter(db, { after: 'one', limit }, trust)],
  ['commands of a box', (db) => commandsOfBox(db, 'box_1', { except: ['box.observe'], limit })],
  ['runs of a job', (db) => runsOf(db, 'file-cleanup', limit)],
  ['events of a tenant', (db) => eventsAfter(db, { stream: 'tenant:ten_1', after: 7, limit })],
  ['tenants that use nothing of their budget', (db) => tenantsBeside(db, { slug: 'one', count: limit, besides: new Set() })],
  ['spaces', (db) => spacesAfter(db, { ...ofNobody, all: true, limit })],
  ['members of a space', (db) => membersAfter(db, { spaceId: 'spc_1', limit })],
  ['files of a space', (db) => filesAfter(db, { ...place, state: 'ready' })],
  ['files of a space, a later page', (db) => filesAfter(db, { ...place, state: 'deleted', after: { createdAt: at, id: 'fil_1' } })],
  ['tenants', (db) => listTenants({ db, clock: manualClock(), windows }, { limit })],
  ['tenants, a later page', (db) => listTenants({ db, clock: manualClock(), windows }, { cursor: 'a', limit })],
  ['tasks', (db) => tasksFor(db, reader, { limit })],
  ['usage', (db) => listUsage({ db }, { limit })],
  ['usage that is not billed', (db) => listUsage({ db }, { limit, state: 'unbilled', cursor: pageEnd({ createdAt: at, id: 'mus_1' }) })],
  ['developers to pay', (db) => developersToPay(db)],
  ['tasks, a later page', (db) => tasksFor(db, reader, { limit, after: { createdAt: at, id: 'tsk_1' } })],
]

let said: RootOperationNode[] = []
const listening: KyselyPlugin = {
  transformQuery: ({ node }) => {
    said.push(node)
    return node
  },
  transformResult: async ({ result }) => result,
}

/** Without a usable index the plan shows it: PostgreSQL is set to avoid scans and sorts even on empty tables. */
const dialects = {
  sqlite: { explain: 'explain query plan', set: [], isBad: (line: string) => /^SCAN (?!.* USING )|TEMP B-TREE FOR ORDER BY/.test(line) },
  postgres: {
    explain: 'explain (costs off)',
    set: ['enable_seqscan', 'enable_sort', 'enable_bitmapscan', 'enable_hashjoin'],
    isBad: (line: string) => /^(\s*->)?\s*(Sort|Seq Scan)\b(?! Key)/.test(line),
  },
} as const

for (const [name, dialect] of Object.entries(dialects))
  describe(name, () => {
    let db: Db
    beforeAll(async () => {
      const opened = await emptyDatabase(name as keyof typeof dialects)
      db = opened.db.withPlugin(listening)
    })
    afterAll(() => db.destroy())

    /** The scans and sorts in the plans of the statements of the work. */
    const badIn = async (work: (db: Db) => Promise<unknown>) => (await plansOf(work)).filter(dialect.isBad)

    /** The lines of the plans of the statements of the work. */
    async function plansOf(work: (db: Db) => Promise<unknown>): Promise<string[]> {
      said = []
      await work(db)
      const asked = [...said]
      expect(asked.length).toBeGreaterThan(0)
      return db.connection().execute(async (one) => {
        for (const way of dialect.set) await sql.raw(`set ${way} = off`).execute(one)
        const lines: string[] = []
        for (const node of asked) {
          const query = one.getExecutor().compileQuery(node, { queryId: 'plan' })
          const { rows } = await one.executeQuery<Record<string, string>>({ ...query, sql: `${dialect.explain} ${query.sql}` })
          lines.push(...rows.map((row) => row.detail ?? row['QUERY PLAN'] ?? ''))
        }
        return lines
      })
    }

    test.each(lists)('%s: no table scan, no sort', async (_, ask) => {
      expect(await badIn(ask)).toEqual([])
    })

    test('the deletion of old submissions reads none of the last year', async () => {
      const plans = await plansOf((one) => deleteOldSubmissions({ db: one, clock: manualClock() }, new AbortController().signal))
      expect(plans).toContainEqual(expect.stringMatching(/(USING.* INDEX|Index Cond).*created_at/))
    })

    test('the count of held messages reads those alone', async () => {
      const plans = await plansOf((one) => channelStates({ db: one, channels }))
      expect(plans).toContainEqual(expect.stringMatching(/(USING.* INDEX|Index Cond).*held_until/))
    })

    test('a list without an index is detected', async () => {
      expect(await badIn((all) => sql`select id from alerts order by kind`.execute(all))).not.toEqual([])
    })
  })
