import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Open elements of the user who started the run, and forms that another role may submit since they were overdue. */
export const elementOwners: Migration = {
  name: '0066-element-owners',
  async up(db) {
    for (const column of ['starter_id', 'escalated_role']) {
      await db.schema.alterTable('run_elements').addColumn(column, 'text').execute()
      await db.schema
        .createIndex(`run_elements_${column}`)
        .on('run_elements')
        .columns(['tenant_id', column])
        .where(sql.ref(column), 'is not', null)
        .execute()
    }
    const role = sql`(select role_key from tasks where tasks.id = run_elements.escalation_task_id)`
    await sql`update run_elements set escalated_role = ${role} where kind = 'form' and escalation_task_id is not null`.execute(db)
  },
}
