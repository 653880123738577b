import { type BoardDefinition, boundRole, type ElementOf } from '../../core/boards/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { activeUsersWithRole } from '../users/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { StepDeps } from './deps.ts'
import { openElements } from './elements.repo.ts'
import { createEscalationTask } from './open-elements.ts'
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

/** A checkpoint that has just opened, with fewer users who could approve it than it needs. */
export type Stalled = Readonly<{ elementId: string; role: string; eligible: number; required: number }>

/** Finds the checkpoints that opened in a step and that too few users can approve; the escalation role of each gets a task. */
export async function escalateStalled(deps: StepDeps, tx: Tx, { run, board, effects }: AppliedStep): Promise<Stalled[]> {
  const found: Stalled[] = []
  const { definition, graph } = board
  for (const effect of effects) {
    const element = effect.type === 'opened' ? graph.elements.get(effect.token.elementId) : undefined
    if (effect.type !== 'opened' || element?.kind !== 'checkpoint') continue
    const { length: eligible } = await eligibleFor(tx, { run, definition, element })
    const { requiredApprovals: required, escalationRole } = element.config
    if (eligible >= required) continue
    found.push({ elementId: element.id, role: effect.role, eligible, required })
    const role = escalationRole === undefined ? undefined : boundRole(definition, escalationRole)
    const one = { tenantId: run.tenantId, runId: run.id }
    const opened = role === undefined ? undefined : (await openElements(tx, one)).find(({ tokenId }) => tokenId === effect.token.id)
    if (role && opened) await createEscalationTask(deps, tx, { run, element: opened, role, title: `Too few approvers: ${element.label}` })
  }
  return found
}
