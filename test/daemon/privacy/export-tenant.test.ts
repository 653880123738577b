import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tableRules } from '../../../src/core/privacy/index.ts'
import { type Db, openDatabase } from '../../../src/daemon/db/index.ts'
import { createPostgresDatabase, testedDialects } from '../../support/databases.ts'
import { aFurnishedTenant, type FurnishedTenant } from '../../support/furnished-tenant.ts'
import { type Api, aKey, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'

describe.each(testedDialects())('the export of a tenant on %s', (dialect) => {
  let daemon: RunningDaemon
  let db: Db
  let close: () => Promise<void>
  let admin: Api
  let mine: FurnishedTenant
  let theirs: FurnishedTenant

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

  const exported = async (slug: string) => {
    const rows: { table: string; row: Record<string, unknown> }[] = []
    let cursor: string | null = null
    do {
      const page = await admin.privacy.exportTenant({ params: { slug }, body: cursor ? { cursor } : {} })
      rows.push(...page.rows)
      cursor = page.nextCursor
    } while (cursor)
    return rows
  }

  test('has every row of its tables once, over several pages, and nothing of another tenant', async () => {
    const many = Array.from({ length: 230 }, (_, n) => n)
    const one = await db.selectFrom('tasks').selectAll().where('tenant_id', '=', mine.tenantId).executeTakeFirstOrThrow()
    for (const n of many)
      await db
        .insertInto('tasks')
        .values({ ...one, id: `tsk_${n}`, external_id: null })
        .execute()
    const rows = await exported('ahorn')
    for (const [table, { tenant, export: key }] of Object.entries(tableRules)) {
      if (!key || tenant === null) continue
      const owned =
        typeof tenant === 'string'
          ? sql`${sql.ref(tenant)} = ${mine.tenantId}`
          : sql`${sql.ref(tenant.column)} in (select id from ${sql.table(tenant.of)} where tenant_id = ${mine.tenantId})`
      const stored = await sql<object>`select * from ${sql.table(table)} where ${owned}`.execute(db)
      const told = rows.filter((row) => row.table === table)
      expect(told, table).toHaveLength(stored.rows.length)
      expect(new Set(told.map(({ row }) => JSON.stringify(key.map((column) => row[column])))).size, table).toBe(told.length)
    }
    const text = JSON.stringify(rows)
    expect(theirs.marks.filter((mark) => text.includes(mark))).toEqual([])
    expect(text).not.toContain(mine.refreshToken)
  })

  test('is in the audit log once, and only for a person with the role admin', async () => {
    const count = async () => (await db.selectFrom('audit').select('seq').where('action', '=', 'tenant.exported').execute()).length
    const before = await count()
    await exported('ahorn')
    expect(await count()).toBe(before + 1)
    const operator = clientOf(daemon.url, await loggedIn(daemon, 'operator'))
    await expect(operator.privacy.exportTenant({ params: { slug: 'ahorn' }, body: {} })).rejects.toThrow()
    const wrong = Buffer.from(JSON.stringify(['tenants', []])).toString('base64url')
    const places = ['["tasks",["a","b"]]', '["run_history",["a","b"]]', '["tasks",[1]]', '["tasks",["\\u0000"]]']
    for (const cursor of [wrong, 'x', ...places.map((place) => Buffer.from(place).toString('base64url'))])
      await expect(admin.privacy.exportTenant({ params: { slug: 'ahorn' }, body: { cursor } })).rejects.toThrow(/cursor/)
    // A cursor continues the audited export, of that tenant and that account.
    const { nextCursor } = await admin.privacy.exportTenant({ params: { slug: 'ahorn' }, body: {} })
    const body = { cursor: nextCursor as string }
    await expect(admin.privacy.exportTenant({ params: { slug: 'zeder' }, body })).rejects.toThrow(/cursor/)
    const other = clientOf(daemon.url, await loggedIn(daemon, 'admin', { name: 'berta' }))
    await expect(other.privacy.exportTenant({ params: { slug: 'ahorn' }, body })).rejects.toThrow(/cursor/)
    expect(await count()).toBe(before + 2)
  })
})
