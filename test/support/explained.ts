import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import type { Db, Tx } from '../../src/daemon/db/index.ts'

/**
 * The query plan of each statement that the work runs, one text each; subqueries come first. PostgreSQL plans as if tables were
 * large.
 */
export async function explained(db: Db, dialect: 'sqlite' | 'postgres', work: (tx: Tx) => Promise<unknown>): Promise<string[]> {
  const said: RootOperationNode[] = []
  const listening: KyselyPlugin = {
    transformQuery: ({ node }) => {
      said.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return db.transaction().execute(async (tx) => {
    await work(tx.withPlugin(listening) as Tx)
    // For a few rows the planner prefers plans that read no index in order, depending on when it last counted them.
    if (dialect === 'postgres') {
      await sql`set local enable_seqscan = off`.execute(tx)
      await sql`set local enable_bitmapscan = off`.execute(tx)
    }
    const plans: string[] = []
    for (const node of said) {
      const compiled = tx.getExecutor().compileQuery(node, { queryId: 'plan' })
      const words = dialect === 'sqlite' ? 'explain query plan' : 'explain'
      const { rows } = await tx.executeQuery<Record<string, unknown>>({ ...compiled, sql: `${words} ${compiled.sql}` })
      plans.push(rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n'))
    }
    return plans
  })
}
