import { type Board, type BoardDefinition, boundRole, type ElementOf, type RunState, type Token } from '../../core/boards/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { activeUsersWithRole } from '../users/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { StepDeps } from './deps.ts'
import { openElements } from './elements.repo.ts'
import type { HistoryInput } from './history.repo.ts'
import { createEscalationTask } from './open-elements.ts'
import { addReaderRole, type RunRecord } from './runs.repo.ts'

type Warning = Readonly<{ elementId: string; code: 'TOO_FEW_APPROVERS'; message: string }>

/** Checkpoints of the board that the active users cannot approve now. */
export async function checkpointWarnings(
  db: DbOrTx,
  { run, definition }: Readonly<{ run: RunRecord; definition: BoardDefinition }>,
): Promise<Warning[]> {
  const warnings: Warning[] = []
  const users = new Map<string, readonly string[]>()
  for (const element of definition.elements) {
    if (element.kind !== 'checkpoint') continue
    const role = boundRole(definition, element.config.assignedRole) ?? ''
    if (!users.has(role)) users.set(role, await activeUsersWithRole(db, { tenantId: run.tenantId, role }))
    const eligible = eligibleAmong(users.get(role) ?? [], { run, element })
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
  return eligibleAmong(await activeUsersWithRole(db, { tenantId: run.tenantId, role }), { run, element })
}

function eligibleAmong(users: readonly string[], { run, element }: Omit<Deciding, 'definition'>): string[] {
  const { startedBy, submitters } = run.state
  return element.config.allowSelfApproval ? [...users] : users.filter((id) => id !== startedBy && !submitters.includes(id))
}

/** An open checkpoint with fewer users who could approve it than it needs. `newReader`: the role that got a task for it now. */
export type Stalled = Readonly<{ elementId: string; role: string; eligible: number; required: number; newReader: string | null }>

/** Open checkpoints that a submitter of a form may not decide. */
export const withoutSelfApproval = ({ tokens }: Pick<RunState, 'tokens'>, { graph }: Pick<Board, 'graph'>): Token[] =>
  tokens.filter(({ elementId }) => {
    const element = graph.elements.get(elementId)
    return element?.kind === 'checkpoint' && !element.config.allowSelfApproval
  })

/**
 * Finds the checkpoints that too few users can approve, among those that opened in a step; after a form among all that its submitter may not
 * decide. The escalation role of each gets a task.
 */
export async function escalateStalled(
  deps: StepDeps,
  tx: Tx,
  { run, board, effects, input }: AppliedStep & Readonly<{ input: HistoryInput }>,
): Promise<Stalled[]> {
  const opened = effects.flatMap((effect) => (effect.type === 'opened' ? [effect.token] : []))
  const ids = new Set(opened.map(({ id }) => id))
  const others = input.type === 'submit' ? withoutSelfApproval(run.state, board).filter(({ id }) => !ids.has(id)) : []
  const found: Stalled[] = []
  for (const token of [...opened, ...others]) {
    const stalled = await escalateIfStalled(deps, tx, { run, board, token })
    if (stalled) found.push(stalled)
  }
  return found
}

type Waiting = Readonly<{ run: RunRecord; board: Board; token: Token }>

/** Undefined for a checkpoint that enough users can approve; else its escalation role gets a task, unless it has one. */
export async function escalateIfStalled(deps: StepDeps, tx: Tx, { run, board, token }: Waiting): Promise<Stalled | undefined> {
  const { definition, graph } = board
  const element = graph.elements.get(token.elementId)
  if (element?.kind !== 'checkpoint') return undefined
  const { length: eligible } = await eligibleFor(tx, { run, definition, element })
  const { requiredApprovals: required, assignedRole, escalationRole } = element.config
  if (eligible >= required) return undefined
  const role = escalationRole === undefined ? undefined : boundRole(definition, escalationRole)
  const one = { tenantId: run.tenantId, runId: run.id }
  const opened = role === undefined ? undefined : (await openElements(tx, one)).find(({ tokenId }) => tokenId === token.id)
  const newReader = role && opened?.escalationTaskId === null ? role : null
  if (newReader !== null && opened) {
    await createEscalationTask(deps, tx, { run, element: opened, role: newReader, title: `Too few approvers: ${element.label}` })
    await addReaderRole(tx, run, newReader)
  }
  return { elementId: element.id, role: boundRole(definition, assignedRole) ?? '', eligible, required, newReader }
}
