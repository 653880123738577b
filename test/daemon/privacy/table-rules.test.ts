import { expect, test } from 'vitest'
import { tableRules } from '../../../src/core/privacy/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'

const tablesOf = async (db: Db): Promise<ReadonlyMap<string, readonly string[]>> => {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  return new Map(tables.map(({ name, columns }) => [name, columns.map((column) => column.name)]))
}

/** Columns with such a name hold the id of a user, in a table of a tenant. */
const namesUser =
  /^(user_id|members|approvals|readers|by_user|(created|saved|started|granted|updated|deleted|asked)_by|(actor|assignee|sender|owner)_id)$/

onBothDialects('the table of rules', (fresh) => {
  test('every table of the database has a rule, and every rule a table', async () => {
    const tables = await tablesOf(await fresh())
    expect(Object.keys(tableRules).toSorted(), 'add the table to src/core/privacy/table-rules.ts').toEqual([...tables.keys()].toSorted())
  })

  test('every column that a rule names exists, and an owner leads to a tenant', async () => {
    const tables = await tablesOf(await fresh())
    for (const [table, { tenant, users = {}, export: key = [] }] of Object.entries(tableRules)) {
      const column = typeof tenant === 'string' ? tenant : tenant?.column
      const named = [...Object.keys(users), ...(column ? [column] : []), ...key]
      expect(tables.get(table), table).toEqual(expect.arrayContaining(named))
      if (tenant !== null && typeof tenant !== 'string')
        expect(tableRules[tenant.of]?.tenant, `${table} belongs to ${tenant.of}`).toBe('tenant_id')
    }
  })

  test('every table with tenant_id belongs to its tenant, and every column that names a user says what its erasure does', async () => {
    for (const [table, columns] of await tablesOf(await fresh())) {
      const rule = tableRules[table]
      if (columns.includes('tenant_id')) expect(rule?.tenant, table).toBe('tenant_id')
      if (rule?.tenant === null) expect(rule.because, table).toBeTruthy()
      else expect(Boolean(rule?.export) !== Boolean(rule?.internal), `${table}: exported, or internal?`).toBe(true)
      if (rule?.tenant !== 'tenant_id' || rule.because || rule.internal) continue
      const missing = columns.filter((column) => namesUser.test(column) && !rule.users?.[column])
      expect(missing, `${table}: what does the erasure of a user do to these?`).toEqual([])
    }
  })
})
