import { auditContract } from '../../core/audit/index.ts'
import { type Served, serve } from '../http/index.ts'
import type { CheckpointDeps } from './checkpoint-audit.ts'
import { auditPublicKey, exportAudit, listCheckpoints, signCheckpoint } from './export-audit.ts'
import { listAudit } from './list-audit.ts'
import { verifyAudit } from './verify-audit.ts'

export const auditRoutes = (deps: CheckpointDeps): Served[] => [
  serve(auditContract.listAudit, ({ query }) => listAudit(deps, query)),
  serve(auditContract.verifyAudit, async ({ query }) => ({ chains: await verifyAudit(deps, query) })),
  serve(auditContract.exportAudit, ({ query }) => exportAudit(deps, query)),
  serve(auditContract.listCheckpoints, ({ query }) => listCheckpoints(deps, query)),
  serve(auditContract.signCheckpoint, ({ body }) => signCheckpoint(deps, body)),
  serve(auditContract.auditPublicKey, () => auditPublicKey(deps)),
]
