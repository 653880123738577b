import {
  type Board,
  type BoardDefinition,
  boundRole,
  type ElementOf,
  isWork,
  type RunState,
  type Token,
  type WorkElement,
  workerRole,
} from '../../../core/boards/index.ts'
import { plural } from '../../../core/kit/index.ts'
import { roleKey } from '../../../core/tasks/index.ts'
import type { DbOrTx, Tx, Write } from '../../db/index.ts'
import { ownersOfTasks, type TaskOwner } from '../../tasks/index.ts'
import { activeUsersWithRole, findUserById, hasActiveUser } from '../../users/index.ts'
import type { StepDeps } from './deps.ts'
import { changeElement, openElements } from './elements.repo.ts'
import { createEscalationTasks, type EscalationText } from './escalation-tasks.ts'
import type { HistoryInput } from './history.repo.ts'
import type { RunRecord } from './runs.repo.ts'
import type { AppliedStep, Stalled } from './step.types.ts'

/** Reads the users of each role, and the tasks of the run, at most once. */
const usersOf = (db: DbOrTx, { tenantId, id: runId }: RunRecord) => {
  const all = new Map<string, Promise<readonly string[]>>()
  const some = new Map<string, Promise<boolean>>()
  const tasks = new Map<string, ReturnType<typeof taskOwners>>()
  return {
    withRole: (role: string) => cached(all, role, () => activeUsersWithRole(db, { tenantId, role })),
    hasRole: (role: string) => cached(some, role, () => hasActiveUser(db, { tenantId, role })),
    isActive: async (userId: string | null) =>
      userId !== null && cached(some, `user ${userId}`, async () => (await findUserById(db, userId))?.status === 'active'),
    taskOf: async ({ id }: Token) => (await cached(tasks, runId, () => taskOwners(db, { tenantId, runId }))).get(id),
  }
}
type Users = ReturnType<typeof usersOf>

/** The role and assignee of each task that the run waits for, by token. */
async function taskOwners(db: DbOrTx, run: Readonly<{ tenantId: string; runId: string }>): Promise<ReadonlyMap<string, TaskOwner>> {
  const open = await openElements(db, run)
  const owners = await ownersOfTasks(db, { tenantId: run.tenantId, ids: open.flatMap(({ taskId }) => taskId ?? []) })
  return new Map(
    open.flatMap(({ tokenId, taskId }) => {
      const owner = owners.get(taskId ?? '')
      return owner ? [[tokenId, owner] as const] : []
    }),
  )
}

function cached<Value>(values: Map<string, Value>, key: string, read: () => Value): Value {
  const value = values.get(key) ?? read()
  values.set(key, value)
  return value
}

type Warning = Readonly<{ elementId: string; code: 'TOO_FEW_APPROVERS' | 'NOBODY_IN_ROLE'; message: string }>

/** Elements of the board that the active users cannot approve or do now. */
export async function startWarnings(
  db: DbOrTx,
  { run, definition }: Readonly<{ run: RunRecord; definition: BoardDefinition }>,
): Promise<Warning[]> {
  const warnings: Warning[] = []
  const users = usersOf(db, run)
  for (const element of definition.elements) {
    if (!isWork(element)) continue
    const { id: elementId, label } = element
    const role = workerRole(definition, element.config)
    if (role === null) continue
    if (element.kind !== 'checkpoint') {
      if (await users.hasRole(role)) continue
      warnings.push({ elementId, code: 'NOBODY_IN_ROLE', message: `"${label}" is done by the role ${role}, which no active user has.` })
      continue
    }
    const eligible = eligibleAmong(await users.withRole(role), { run, element })
    const { requiredApprovals } = element.config
    if (eligible.length >= requiredApprovals) continue
    const message = `"${label}" needs ${plural(requiredApprovals, 'approval')}, but only ${plural(eligible.length, 'active user')} can give one.`
    warnings.push({ elementId, code: 'TOO_FEW_APPROVERS', message })
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

/** Those of these users of the role who may decide. */
export function eligibleAmong(users: readonly string[], { run, element }: Omit<Deciding, 'definition'>): string[] {
  const { startedBy, submitters } = run.state
  return element.config.allowSelfApproval ? [...users] : users.filter((id) => id !== startedBy && !submitters.includes(id))
}

/** Whether the run waits at a checkpoint that a submitter of a form may not decide. */
const mayLoseApprovers = ({ tokens }: Pick<RunState, 'tokens'>, { graph }: Pick<Board, 'graph'>): boolean =>
  tokens.some(({ elementId }) => {
    const element = graph.elements.get(elementId)
    return element?.kind === 'checkpoint' && !element.config.allowSelfApproval
  })

type OfRun = Readonly<{ run: RunRecord; board: Board }>
/** Ids of tokens that open or escalate in this step: their tasks are not stored like that yet. */
type Changing = Readonly<{ changing?: ReadonlySet<string> }>

/** The open elements of the run that too few users can approve, or no user can do. */
export async function stalledOf(db: DbOrTx, { run, board, changing = new Set() }: OfRun & Changing): Promise<Stalled[]> {
  const users = usersOf(db, run)
  const found: Stalled[] = []
  for (const token of run.state.tokens) {
    const element = board.graph.elements.get(token.elementId)
    if (!element || !isWork(element)) continue
    const { kind } = element
    const task = kind === 'task' && !changing.has(token.id) ? await users.taskOf(token) : undefined
    const waiting = { run, token, element, users, task, ...rolesOf(board, { token, element, task }) }
    const required = element.kind === 'checkpoint' ? element.config.requiredApprovals : 1
    const eligible = await eligibleCount(waiting)
    if (eligible >= required) continue
    const { role, other } = waiting
    // The role that has the task and lacks users gets no task to see to itself.
    const escalationRole = kind === 'task' && other === role ? null : other
    found.push({ ...{ tokenId: token.id, elementId: element.id, kind }, role, escalationRole, eligible, required })
  }
  return found
}

type Element = Readonly<{ token: Token; element: WorkElement; task: TaskOwner | undefined }>
type Roles = Readonly<{ role: string | null; other: string | null }>

/** `role`: does the element now; null for the user who started the run. A task that was escalated, also by hand, is of the new role alone. */
function rolesOf({ definition }: Board, { token, element: { kind, config }, task }: Element): Roles {
  const other = config.escalationRole === undefined ? null : (boundRole(definition, config.escalationRole) ?? null)
  if (task) return { role: task.assignedRole === null ? null : roleKey(task.assignedRole), other }
  return { role: kind === 'task' && token.escalated && other !== null ? other : workerRole(definition, config), other }
}

type Waiting = Element & Roles & Readonly<{ run: RunRecord; users: Users }>

/** For a task or form only whether somebody can do it: 1 or 0. */
async function eligibleCount(waiting: Waiting): Promise<number> {
  const { run, element, users, role } = waiting
  if (element.kind === 'checkpoint') return eligibleAmong(await users.withRole(role ?? ''), { run, element }).length
  return (await hasDoer(waiting)) ? 1 : 0
}

async function hasDoer({ run, token, element, users, task, role, other }: Waiting): Promise<boolean> {
  if (role !== null && (await users.hasRole(role))) return true
  if (element.kind === 'form' && token.escalated && other !== null && (await users.hasRole(other))) return true
  // The task of the starter may be assigned to another user, and is that user's alone then.
  if (task) return users.isActive(task.assigneeId)
  return role === null && users.isActive(run.state.startedBy)
}

/** The elements of a run after a step. `stalled`: all that too few users can do. `isNew`: one of them because of the step. */
export type StalledByStep = Readonly<{ stalled: readonly Stalled[]; isNew: boolean }>

type Stepping = Omit<AppliedStep, 'at'> & Readonly<{ input: HistoryInput; wasStalled: boolean }>

/**
 * Reads nothing unless an element of the run was stalled before, or the step opened an element, escalated one to another role or closed a
 * checkpoint, or a user submitted a form who may not decide a checkpoint, or the run continues after a failure: failed runs are not checked.
 */
export async function stalledByStep(db: DbOrTx, { run, board, effects, input, wasStalled }: Stepping): Promise<StalledByStep> {
  const opened = new Set(effects.flatMap((effect) => (effect.type === 'opened' ? [effect.token.id] : [])))
  const late = new Set(effects.flatMap((effect) => (effect.type === 'escalated' && effect.role !== null ? [effect.elementId] : [])))
  const escalating = new Set(run.state.tokens.flatMap(({ id, elementId }) => (late.has(elementId) ? [id] : [])))
  const isCheckpoint = ({ elementId }: Token) => board.graph.elements.get(elementId)?.kind === 'checkpoint'
  const hasDecided = effects.some((effect) => effect.type === 'closed' && isCheckpoint(effect.token))
  const isSubmitted = input.type === 'submit' && mayLoseApprovers(run.state, board)
  const isRetried = input.type === 'retry' && run.state.failure === null
  const mayStall = opened.size > 0 || escalating.size > 0 || hasDecided || isSubmitted || isRetried
  if (!mayStall && !wasStalled) return { stalled: [], isNew: false }
  const changing = new Set([...opened, ...escalating])
  const stalled = await stalledOf(db, { run, board, changing })
  const isNew = ({ tokenId, kind }: Stalled) => isRetried || (isSubmitted && kind === 'checkpoint') || changing.has(tokenId)
  return { stalled, isNew: stalled.some(isNew) }
}

/** The task that asks another role to see to a stalled element; undefined without such a role. */
export const stalledTask = ({ escalationRole, kind }: Stalled, label: string): EscalationText | undefined =>
  escalationRole === null
    ? undefined
    : { title: `${kind === 'checkpoint' ? 'Too few approvers' : 'No active user for'}: ${label}`, assignedRole: escalationRole }

/** Creates the tasks of stalled elements that opened earlier and have none. Returns the writes of their elements. */
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
    const text = one && element.escalationTaskId === null ? stalledTask(one, element.label) : undefined
    return text ? [{ element, text }] : []
  })
  const ids = await createEscalationTasks(
    deps,
    tx,
    asked.map(({ text }) => ({ run, text })),
  )
  return asked.map(({ element }, nth) => changeElement(element, { escalation_task_id: ids[nth] ?? null }))
}
