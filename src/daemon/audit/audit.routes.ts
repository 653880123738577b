import { auditContract } from '../../core/audit/index.ts'
import { serveContract } from '../http/index.ts'
import type { CheckpointDeps } from './checkpoint-audit.ts'
import { auditPublicKey, exportAudit, listAudit, listCheckpoints, signCheckpoint, verifyAudit } from './read-audit.ts'

export const auditRoutes = (deps: CheckpointDeps) =>
  serveContract(auditContract, {
    listAudit: ({ query }) => listAudit(deps, query),
    verifyAudit: async ({ query }) => ({ chains: await verifyAudit(deps, query) }),
    exportAudit: ({ query }) => exportAudit(deps, query),
    listCheckpoints: ({ query }) => listCheckpoints(deps, query),
    signCheckpoint: ({ body }) => signCheckpoint(deps, body),
    auditPublicKey: () => auditPublicKey(deps),
  })
