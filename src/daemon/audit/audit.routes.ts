import { auditContract } from '../../core/audit/index.ts'
import type { Db } from '../db/index.ts'
import { type Served, serve } from '../http/index.ts'
import { listAudit } from './list-audit.ts'
import { verifyAudit } from './verify-audit.ts'

export const auditRoutes = (needs: { db: Db }): Served[] => [
  serve(auditContract.listAudit, ({ query }) => listAudit(needs, query)),
  serve(auditContract.verifyAudit, async ({ query }) => ({ chains: await verifyAudit(needs, query) })),
]
