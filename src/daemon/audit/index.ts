// The append-only, hash-chained audit log: every admin act is in it, in the transaction of the act.
// Signed checkpoints of its heads go to a file outside the database, so that a log rewritten as a whole can be told.
// It decides nothing and is never written to except by `recordAudit` and `recordAudits`.
import './audit.tables.ts'
import { feature, repeat } from '../feature/index.ts'
import { auditRoutes } from './audit.routes.ts'
import { type CheckpointDeps, checkpointAudit, checkpointHandler, checkpointTopic } from './checkpoint-audit.ts'

export { entriesAfter, headOf } from './audit.repo.ts'
export { auditRoutes } from './audit.routes.ts'
export { checkpointAudit, checkpointHandler, checkpointTopic, requestCheckpoint } from './checkpoint-audit.ts'
export { type DatedAct, recordAudit, recordAudits } from './record-audit.ts'

export const auditFeature = feature<CheckpointDeps>({
  name: 'audit',
  routes: auditRoutes,
  jobs: (deps) => ({ [checkpointTopic]: checkpointHandler(deps) }),
  loops: (deps) => [repeat(deps, { everyMs: 60 * 60_000, name: 'audit checkpoint', run: () => checkpointAudit(deps) })],
})
