import { type Board, type BoardDefinition, boundRole, type ElementOf, type RunState } from '../../core/boards/index.ts'
import type { DbOrTx, Tx, Write } from '../db/index.ts'
import { activeUsersWithRole } from '../users/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { StepDeps } from './deps.ts'
import { changeElement, openElements } from './elements.repo.ts'
import { createEscalationTasks, type EscalationText } from './escalation-tasks.ts'
import type { HistoryInput } from './history.repo.ts'
import type { RunRecord } from './runs.repo.ts'

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

/** An open checkpoint with fewer users who could approve it than it needs. `escalationRole`: gets a task for it. */
export type Stalled = Readonly<{
  tokenId: string
  elementId: string
  label: string
  role: string
  eligible: number
  required: number
  escalationRole: string | null
}>

/** Whether the run waits at a checkpoint that a submitter of a form may not decide. */
export const mayLoseApprovers = ({ tokens }: Pick<RunState, 'tokens'>, { graph }: Pick<Board, 'graph'>): boolean =>
  tokens.some(({ elementId }) => {
    const element = graph.elements.get(elementId)
    return element?.kind === 'checkpoint' && !element.config.allowSelfApproval
  })

/** The open checkpoints of the run that too few users can approve. Reads the users of each role once. */
export async function stalledOf(db: DbOrTx, { run, board }: Readonly<{ run: RunRecord; board: Board }>): Promise<Stalled[]> {
  const { definition, graph } = board
  const users = new Map<string, readonly string[]>()
  const found: Stalled[] = []
  for (const { id: tokenId, elementId } of run.state.tokens) {
    const element = graph.elements.get(elementId)
    if (element?.kind !== 'checkpoint') continue
    const { requiredApprovals: required, assignedRole, escalationRole } = element.config
    const role = boundRole(definition, assignedRole) ?? ''
    if (!users.has(role)) users.set(role, await activeUsersWithRole(db, { tenantId: run.tenantId, role }))
    const eligible = eligibleAmong(users.get(role) ?? [], { run, element }).length
    if (eligible >= required) continue
    const other = escalationRole === undefined ? null : (boundRole(definition, escalationRole) ?? null)
    found.push({ tokenId, elementId, label: element.label, role, eligible, required, escalationRole: other })
  }
  return found
}

/** The checkpoints of a run after a step. `stalled`: all that too few users can approve. `isNew`: one of them because of the step. */
export type StalledByStep = Readonly<{ stalled: readonly Stalled[]; isNew: boolean }>

/** Reads nothing unless the step opened or closed a checkpoint, or a user submitted a form who may not decide one. */
export async function stalledByStep(
  db: DbOrTx,
  { run, board, effects, input }: AppliedStep & Readonly<{ input: HistoryInput }>,
): Promise<StalledByStep> {
  const moved = effects.filter((effect) => effect.type === 'opened' || effect.type === 'closed')
  const hasMoved = moved.some(({ token }) => board.graph.elements.get(token.elementId)?.kind === 'checkpoint')
  const isSubmitted = input.type === 'submit' && mayLoseApprovers(run.state, board)
  if (!hasMoved && !isSubmitted) return { stalled: [], isNew: false }
  const stalled = await stalledOf(db, { run, board })
  const opened = new Set(moved.flatMap(({ type, token }) => (type === 'opened' ? [token.id] : [])))
  return { stalled, isNew: stalled.some(({ tokenId }) => isSubmitted || opened.has(tokenId)) }
}

/** The task that asks another role to see to a stalled checkpoint; undefined without such a role. */
export const stalledTask = ({ escalationRole, label }: Stalled): EscalationText | undefined =>
  escalationRole === null ? undefined : { title: `Too few approvers: ${label}`, assignedRole: escalationRole }

/** Creates the tasks of stalled checkpoints that opened earlier and have none. Returns the writes of their elements. */
export async function escalateStalled(
  deps: StepDeps,
  tx: Tx,
  { run, stalled }: Readonly<{ run: RunRecord; stalled: readonly Stalled[] }>,
): Promise<Write[]> {
  if (!stalled.some(({ escalationRole }) => escalationRole !== null)) return []
  const byToken = new Map(stalled.map((one) => [one.tokenId, one]))
  const open = await openElements(tx, { tenantId: run.tenantId, runId: run.id })
  const asked = open.flatMap((element) => {
    const one = byToken.get(element.tokenId)
    const text = one && element.escalationTaskId === null ? stalledTask(one) : undefined
    return text ? [{ element, text }] : []
  })
  const ids = await createEscalationTasks(
    deps,
    tx,
    asked.map(({ text }) => ({ run, text })),
  )
  return asked.map(({ element }, nth) => changeElement(element, { escalation_task_id: ids[nth] ?? null }))
}
