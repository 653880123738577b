import { type BoardDefinition, boundRole, type ElementOf } from '../../core/boards/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { activeUsersWithRole } from '../users/index.ts'
import type { RunRecord } from './runs.repo.ts'

type Warning = Readonly<{ elementId: string; code: 'TOO_FEW_APPROVERS'; message: string }>

/** Checkpoints of the board that the active users cannot approve now. */
export async function checkpointWarnings(
  db: DbOrTx,
  { run, definition }: Readonly<{ run: RunRecord; definition: BoardDefinition }>,
): Promise<Warning[]> {
  const warnings: Warning[] = []
  for (const element of definition.elements) {
    if (element.kind !== 'checkpoint') continue
    const eligible = await eligibleFor(db, { run, definition, element })
    const { requiredApprovals } = element.config
    if (eligible.length >= requiredApprovals) continue
    const message = `"${element.label}" needs ${requiredApprovals} approvals, but only ${eligible.length} active users can give one.`
    warnings.push({ elementId: element.id, code: 'TOO_FEW_APPROVERS', message })
  }
  return warnings
}

type Deciding = Readonly<{ run: RunRecord; definition: BoardDefinition; element: ElementOf<'checkpoint'> }>

/** Ids of the active users who may approve: in the role, and unless the element allows it neither starter nor submitter. */
export async function eligibleFor(db: DbOrTx, { run, definition, element }: Deciding): Promise<string[]> {
  const role = boundRole(definition, element.config.assignedRole)
  if (role === undefined) return []
  const { startedBy, submitters } = run.state
  const users = await activeUsersWithRole(db, { tenantId: run.tenantId, role })
  return element.config.allowSelfApproval ? users : users.filter((id) => id !== startedBy && !submitters.includes(id))
}
