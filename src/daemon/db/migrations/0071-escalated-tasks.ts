import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Open tasks that were escalated by hand before: the check of a role that loses its users finds their elements by the new role. */
export const escalatedTasks: Migration = {
  name: '0071-escalated-tasks',
  async up(db) {
    const role = sql`(select role_key from tasks where tasks.id = run_elements.task_id)`
    await sql`update run_elements set escalated_role = ${role} where kind = 'task' and ${role} <> role_key`.execute(db)
  },
}
