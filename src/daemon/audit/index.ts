// The append-only, hash-chained audit log: every act of an admin is recorded in the transaction of the act.
// Signed checkpoints of the chain heads go to a file outside the database, so that a rewritten log is detected.
// Only `recordAudit` writes to it; no entry is ever changed or deleted.
import './audit.tables.ts'
import { auditContract, tenantRecordContract } from '../../core/audit/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { type CheckpointDeps, checkpointAudit, checkpointHandler, checkpointTopic } from './checkpoint-audit.ts'
import { auditPublicKey, exportAudit, listAudit, listCheckpoints, signCheckpoint, verifyAudit } from './read-audit.ts'
import { listOwnAudit } from './read-record.ts'

export { entriesAfter, headOf, moduleEntriesOf } from './audit.repo.ts'
export { checkpointAudit, checkpointHandler, checkpointTopic, requestCheckpoint } from './checkpoint-audit.ts'
export { recordAudit } from './record-audit.ts'
export { isSignedRecord, type RecordSignature, signRecord } from './sign-record.ts'

export const auditRoutes = (deps: CheckpointDeps) => [
  ...serveContract(auditContract, {
    listAudit: ({ query }) => listAudit(deps, query),
    verifyAudit: async ({ query }) => ({ chains: await verifyAudit(deps, query) }),
    exportAudit: ({ query }) => exportAudit(deps, query),
    listCheckpoints: ({ query }) => listCheckpoints(deps, query),
    signCheckpoint: ({ body }) => signCheckpoint(deps, body),
    auditPublicKey: () => auditPublicKey(deps),
  }),
  ...serveContract(tenantRecordContract, { listOwnAudit: ({ actor, query }) => listOwnAudit(deps, actor, query) }),
]

export const auditFeature = feature<CheckpointDeps>({
  name: 'audit',
  routes: auditRoutes,
  jobs: (deps) => ({ [checkpointTopic]: checkpointHandler(deps) }),
  loops: (deps) => [{ name: 'sign the heads of the audit log', everyMs: 60 * 60_000, run: () => checkpointAudit(deps) }],
})
