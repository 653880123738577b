import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tableRules } from '../../../src/core/privacy/index.ts'
import { type Db, openDatabase } from '../../../src/daemon/db/index.ts'
import { type DeletionDeps, deletionJobs } from '../../../src/daemon/privacy/index.ts'
import { systemClock } from '../../../src/node/index.ts'
import { createPostgresDatabase, onBothDialects, testedDialects } from '../../support/databases.ts'
import { mortal } from '../../support/dying.ts'
import { aFurnishedTenant, type FurnishedTenant } from '../../support/furnished-tenant.ts'
import { type Api, aKey, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'

const reason = 'contract ended'

/** Every row of every table but those of the platform's own work, by table. */
async function rowsOf(db: Db, texts: readonly string[]): Promise<string[]> {
  const names = (await db.introspection.getTables()).map(({ name }) => name)
  const found = names.map(async (name) => {
    const { rows } = await sql<object>`select * from ${sql.table(name)}`.execute(db)
    return rows.map((row) => `${name} ${JSON.stringify(row)}`).filter((row) => texts.some((text) => row.includes(text)))
  })
  return (await Promise.all(found)).flat().toSorted()
}

describe.each(testedDialects())('the deletion of a tenant on %s', (dialect) => {
  let daemon: RunningDaemon
  let db: Db
  let close: () => Promise<void>
  let admin: Api
  let mine: FurnishedTenant
  let theirs: FurnishedTenant
  const params = { slug: 'ahorn' }

  beforeAll(async () => {
    const env: Record<string, string> =
      dialect === 'postgres' ? { TENANTRY_DATABASE: await createPostgresDatabase(), TENANTRY_SECRET_KEY: aKey() } : {}
    daemon = await aRunningDaemon({ env })
    admin = clientOf(daemon.url, await loggedIn(daemon, 'admin'))
    mine = await aFurnishedTenant(daemon, 'ahorn', 'amarelle')
    theirs = await aFurnishedTenant(daemon, 'zeder', 'zwetschge')
    ;({ db, close } = openDatabase(daemon.config.databaseUrl))
  })
  afterAll(async () => {
    await close()
    await daemon.close()
  })

  const deleting = (body = { confirm: 'ahorn', reason }) => admin.privacy.deleteTenant({ params, body })

  test('is refused for a person below admin, another confirmation, and an active tenant', async () => {
    const operator = clientOf(daemon.url, await loggedIn(daemon, 'operator'))
    await expect(operator.privacy.deleteTenant({ params, body: { confirm: 'ahorn', reason } })).rejects.toThrow()
    await expect(deleting({ confirm: 'zeder', reason })).rejects.toThrow(/expected ahorn/)
    await expect(deleting()).rejects.toThrow(/is active. fix: tenantry tenants suspend ahorn/)
    await admin.tenants.suspendTenant({ params, body: { reason } })
    const { contents, blockers } = await admin.privacy.showTenantDeletion({ params })
    expect(contents).toMatchObject({ users: 2, spaces: 2, boards: 3, runs: 1 })
    expect(contents.files).toBeGreaterThan(1)
    expect(blockers).toEqual([])
  })

  test('removes every row and object of the tenant and nothing of another, and leaves its proof in the audit log', async () => {
    const files = await db.selectFrom('files').select(['id', 'state']).where('tenant_id', '=', mine.tenantId).execute()
    expect(files.length).toBeGreaterThan(1)
    // A module of its developer, rated by a user of the other tenant: the rating goes with the module.
    const at = '2026-01-05T02:00:00.000Z'
    const rater = await db.selectFrom('users').select('id').where('tenant_id', '=', theirs.tenantId).executeTakeFirstOrThrow()
    const submission = await db
      .selectFrom('store_submissions')
      .select('id')
      .where('developer_id', '=', mine.developerId)
      .executeTakeFirstOrThrow()
    const module = { id: 'com.example.doomed', developer_id: mine.developerId, feature_flag: 'doomed', version: '1.0.0' }
    await db
      .insertInto('store_modules')
      .values({ ...module, submission_id: submission.id, approved_at: at } as never)
      .execute()
    const rating = { module_id: module.id, user_id: rater.id, tenant_id: theirs.tenantId, rating: 5, comment: null }
    await db
      .insertInto('store_ratings')
      .values({ ...rating, id: 'rat_1', created_at: at } as never)
      .execute()
    // Events are left out: the daemon goes on working for the other tenant.
    const others = async () =>
      (await rowsOf(db, theirs.ids)).filter(
        (row) =>
          !/^(events|streams|stream_places|store_ratings|jobs|job_queues|leases|sessions|api_tokens|billing_active_users) /.test(row),
      )
    const before = await others()
    expect(await deleting()).toMatchObject({ state: 'deleting', reason })
    await gone()
    const left = (await rowsOf(db, [...mine.ids, ...mine.marks])).map((row) => row.split(' ')[0])
    expect([...new Set(left)].filter((table) => !['audit', 'revocations', 'jobs', 'leases'].includes(table as string))).toEqual([])
    expect(await others()).toEqual(before)
    const entries = await db.selectFrom('audit').select(['action', 'data']).where('subject', '=', 'ahorn').execute()
    const named = entries.filter(({ action }) => action === 'tenant.deleting' || action === 'tenant.deleted')
    expect(named.map(({ action }) => action)).toEqual(['tenant.deleting', 'tenant.deleted'])
    expect(named[0]?.data).toContain('"users":2')
    await expect(admin.tenants.showTenant({ params })).rejects.toThrow(/does not exist/)
    const user = clientOf(daemon.url, mine.head)
    await expect(user.profile.showProfile({})).rejects.toThrow()
    expect(await clientOf(daemon.url, theirs.head).files.listFiles({ params: { spaceId: spaceOf(theirs) }, query: {} })).toBeTruthy()
  })

  const spaceOf = ({ keys }: FurnishedTenant) => keys['spaces/:spaceId']?.[0] as string

  const gone = async () => {
    for (let look = 0; ; look++) {
      const tenant = await db.selectFrom('tenants').select('status').where('slug', '=', 'ahorn').executeTakeFirst()
      if (!tenant) return
      const job = await db.selectFrom('jobs').select('last_error').where('topic', '=', 'privacy.delete-tenant').executeTakeFirst()
      if (look > 600) throw new Error(`the deletion did not end: ${job?.last_error}`)
      await systemClock.sleep(50)
    }
  }

  test('its slug and chat domain can be used again', async () => {
    const body = { slug: 'ahorn', name: 'Ahorn', plan: 'light' as const, chatDomain: 'chat.ahorn.example' }
    expect(await admin.tenants.createTenant({ body })).toMatchObject({ status: 'active' })
  })
})

onBothDialects('a deletion', (fresh) => {
  const at = '2026-01-05T02:00:00.000Z'
  const aTenant = async (db: Db, id: string, status: 'deleting' | 'active') => {
    await db
      .insertInto('tenants')
      .values({
        id,
        slug: id,
        chat_domain: `${id}.example`,
        name: id,
        plan: 'light',
        status,
        created_at: at,
        time_zone: null,
        maintenance_window: null,
      })
      .execute()
    const spaces = Array.from({ length: 3 }, (_, n) => `spc_${id}_${n}`)
    for (const space of spaces)
      await db
        .insertInto('space_activity')
        .values({ tenant_id: id, space_id: space, seq: 1, type: 'x', actor_id: 'usr', ids: '{}', created_at: at } as never)
        .execute()
        .catch(() => undefined)
    await db.insertInto('file_usage').values({ tenant_id: id, bytes: 1 }).execute()
    await db
      .insertInto('snapshots')
      .values({
        tenant_id: id,
        snapshot_id: 'a'.repeat(64),
        box_id: 'box',
        slug: id,
        tier: 'daily',
        taken_at: at,
        status: 'present',
        recorded_at: at,
      } as never)
      .execute()
  }
  const depsOf = (db: Db, steps: string[]): DeletionDeps => ({
    db,
    clock: systemClock,
    blockers: [],
    remains: async () => [],
    deleteSteps: [async ({ id }) => void steps.push(id)],
    discardJobs: async () => undefined,
  })
  const count = async (db: Db, id: string) => (await rowsOf(db, [`"${id}"`])).filter((row) => !/^(audit|revocations)/.test(row)).length

  test('killed at any statement continues, and touches no other tenant', async () => {
    for (let steps = 1; ; steps++) {
      const db = await fresh()
      await aTenant(db, 'ten_a', 'deleting')
      await aTenant(db, 'ten_b', 'active')
      const other = await count(db, 'ten_b')
      const once = mortal(db, steps)
      const payload = { tenantId: 'ten_a' }
      const runs: string[] = []
      const job = (of: Db) => deletionJobs(depsOf(of, runs))['privacy.delete-tenant']?.(payload, { last: false })
      await job(once.db)?.catch(() => undefined)
      await job(db)
      expect([await count(db, 'ten_a'), await count(db, 'ten_b')], `killed after ${steps} steps`).toEqual([0, other])
      const proofs = await db.selectFrom('audit').select('seq').where('action', '=', 'tenant.deleted').execute()
      expect(proofs, `killed after ${steps} steps`).toHaveLength(1)
      if (!once.isDead()) break
      // Statements of empty tables are alike: after the first ones every thirteenth is tried.
      if (steps > 12) steps += 12
    }
  })

  test('does nothing for a tenant that is not being deleted', async () => {
    const db = await fresh()
    await aTenant(db, 'ten_b', 'active')
    const before = await count(db, 'ten_b')
    await deletionJobs(depsOf(db, []))['privacy.delete-tenant']?.({ tenantId: 'ten_b' }, { last: false })
    expect(await count(db, 'ten_b')).toBe(before)
  })

  test('deletes referencing tables first: every table stands behind those that it references', async () => {
    const db = await fresh()
    const order = Object.keys(tableRules)
    const { rows } = await sql<{
      child: string
      parent: string
    }>`${sql.raw(references[db.getExecutor().adapter.constructor.name.startsWith('Postgres') ? 'postgres' : 'sqlite'])}`.execute(db)
    const own = rows.filter(({ child, parent }) => tableRules[child]?.tenant && tableRules[parent]?.tenant)
    expect(own.length).toBeGreaterThan(20)
    expect(own.filter(({ child, parent }) => order.indexOf(child) <= order.indexOf(parent))).toEqual([])
  })
})

const references = {
  postgres: `select conrelid::regclass::text as child, confrelid::regclass::text as parent from pg_constraint where contype = 'f'`,
  sqlite: `select m.name as child, f."table" as parent from sqlite_master m, pragma_foreign_key_list(m.name) f where m.type = 'table'`,
}
