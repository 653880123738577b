import { auditContract } from '../../core/audit/index.ts'
import { type Served, serve } from '../http/index.ts'
import type { CheckpointNeeds } from './checkpoint-audit.ts'
import { auditPublicKey, exportAudit, listCheckpoints, signCheckpoint } from './export-audit.ts'
import { listAudit } from './list-audit.ts'
import { verifyAudit } from './verify-audit.ts'

export const auditRoutes = (needs: CheckpointNeeds): Served[] => [
  serve(auditContract.listAudit, ({ query }) => listAudit(needs, query)),
  serve(auditContract.verifyAudit, async ({ query }) => ({ chains: await verifyAudit(needs, query) })),
  serve(auditContract.exportAudit, ({ query }) => exportAudit(needs, query)),
  serve(auditContract.listCheckpoints, ({ query }) => listCheckpoints(needs, query)),
  serve(auditContract.signCheckpoint, ({ body }) => signCheckpoint(needs, body)),
  serve(auditContract.auditPublicKey, () => auditPublicKey(needs)),
]
