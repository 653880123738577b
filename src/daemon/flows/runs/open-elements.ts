import type { Board, Closed, RunEffect, Token, WorkElement } from '../../../core/boards/index.ts'
import { executeWrites, type Tx, type Write } from '../../db/index.ts'
import { ensureTasks, escalateTasksOfRun, finishTasksOfRun } from '../../tasks/index.ts'
import type { StepDeps } from './deps.ts'
import { changeElement, deleteElement, insertElements, openElements, type RunElement } from './elements.repo.ts'
import { createEscalationTasks, taskOf } from './escalation-tasks.ts'
import type { RunRecord } from './runs.repo.ts'
import type { AppliedStep } from './step.types.ts'

type Opened = Extract<RunEffect, { type: 'opened' }>

/**
 * The writes of a step in which forms and timers alone open and close. Undefined for every other step, and if a form closes that was late,
 * which ends an alert, or that may have asked its escalation role with a task.
 */
function formWrites({ run, board, effects }: AppliedStep): Write[] | undefined {
  const kindOf = (token: Token) => board.graph.elements.get(token.elementId)?.kind
  const isPlain = ({ elementId }: Token) => {
    const element = board.graph.elements.get(elementId)
    return element?.kind === 'timer' || (element?.kind === 'form' && element.config.escalationRole === undefined)
  }
  const closed = effects.filter((effect) => effect.type === 'closed')
  const ids = new Set(closed.map(({ token }) => token.id))
  const opened = effects.filter((effect): effect is Opened => effect.type === 'opened' && !ids.has(effect.token.id))
  const hasTasks =
    opened.some(({ token }) => kindOf(token) !== 'form') ||
    closed.some(({ token }) => token.escalated || !isPlain(token)) ||
    effects.some(({ type }) => type === 'escalated')
  if (hasTasks) return undefined
  const one = { tenantId: run.tenantId, runId: run.id }
  return [
    ...closed.flatMap(({ token }) => (kindOf(token) === 'form' ? [deleteElement({ ...one, tokenId: token.id })] : [])),
    ...insertElements(opened.map((one) => elementOf(run, board, one))),
  ]
}

/** Creates, ends and escalates the tasks of the elements that wait for users. Returns the writes that open and close the elements. */
export async function applyElements(deps: StepDeps, tx: Tx, step: AppliedStep): Promise<Write[]> {
  const plain = formWrites(step)
  if (plain) return plain
  const { run, board, effects, at } = step
  const closed = new Map(effects.flatMap((effect) => (effect.type === 'closed' ? [[effect.token.id, effect.outcome] as const] : [])))
  const opened = effects.filter((effect): effect is Opened => effect.type === 'opened' && !closed.has(effect.token.id))
  const escalated = effects.flatMap((effect) => (effect.type === 'escalated' && effect.elementId !== null ? [effect] : []))
  const writes: Write[] = []
  if (closed.size > 0 || escalated.length > 0) {
    const waiting = await openElements(tx, { tenantId: run.tenantId, runId: run.id })
    writes.push(...(await closeElements(deps, tx, { waiting, closed })))
    const open = new Map(waiting.filter(({ tokenId }) => !closed.has(tokenId)).map((one) => [one.elementId, one]))
    const late = escalated.flatMap(({ elementId, role }) => {
      const element = open.get(elementId as string)
      return element ? [{ element, role }] : []
    })
    await escalate(deps, tx, { run, late, at })
  }
  return [...writes, ...(await openAll(deps, tx, { run, board, opened }))]
}

type Opening = Readonly<{ run: RunRecord; board: Board; opened: readonly Opened[] }>

async function openAll(deps: StepDeps, tx: Tx, { run, board, opened }: Opening): Promise<Write[]> {
  const elements = opened.map((one) => elementOf(run, board, one))
  const tasks = elements.filter(({ kind }) => kind === 'task')
  const made = await ensureTasks(
    deps,
    tx,
    tasks.map(({ label, role, starterId, dueAt }) => taskOf(run, { title: label, assignedRole: role, assigneeId: starterId, dueAt })),
  )
  const taskIds = new Map(tasks.map(({ tokenId }, nth) => [tokenId, made[nth]?.task.id ?? null]))
  return insertElements(elements.map((one) => ({ ...one, taskId: taskIds.get(one.tokenId) ?? null })))
}

function elementOf({ id, tenantId, state }: RunRecord, { graph }: Board, { token, role, label }: Omit<Opened, 'type'>): RunElement {
  const { kind, config } = graph.elements.get(token.elementId) as WorkElement
  return {
    ...{ runId: id, tokenId: token.id, tenantId, elementId: token.elementId, kind, label, role, approvals: [] },
    ...{ starterId: role === null ? state.startedBy : null, escalatedRole: null },
    ...{ taskId: null, escalationTaskId: null, dueAt: token.dueAt, openedAt: token.since },
    requiredApprovals: 'requiredApprovals' in config ? config.requiredApprovals : null,
  }
}

type Closing = Readonly<{ waiting: readonly RunElement[]; closed: ReadonlyMap<string, Closed> }>

/** A cancelled run may have hundreds of tasks, so they end together. */
async function closeElements(deps: StepDeps, tx: Tx, { waiting, closed }: Closing): Promise<Write[]> {
  const ended = waiting.filter(({ tokenId }) => closed.has(tokenId))
  const isDone = ({ tokenId }: RunElement) => ['done', 'approved', 'rejected'].includes(closed.get(tokenId) as Closed)
  await finishTasksOfRun({ ...deps, tx }, ended.filter(isDone).flatMap(tasksOf), { type: 'complete' })
  await finishTasksOfRun({ ...deps, tx }, ended.filter((one) => !isDone(one)).flatMap(tasksOf), { type: 'cancel' })
  return ended.map(deleteElement)
}

export const tasksOf = ({ tenantId, taskId, escalationTaskId }: RunElement): { tenantId: string; id: string }[] =>
  [taskId, escalationTaskId].flatMap((id) => (id === null ? [] : [{ tenantId, id }]))

type Late = Readonly<{ element: RunElement; role: string | null }>
type Escalating = Readonly<{ run: RunRecord; late: readonly Late[]; at: string }>

/**
 * A task goes to the other role; for a checkpoint or a form that role gets a task, since only the first role can decide it. At the end of the
 * time of a run all of its elements escalate together.
 */
async function escalate(deps: StepDeps, tx: Tx, { run, late, at }: Escalating): Promise<void> {
  for (const role of new Set(late.map((one) => one.role))) {
    const ids = late.flatMap(({ element: { taskId }, role: to }) => (taskId === null || to !== role ? [] : [taskId]))
    const tasks = ids.map((id) => ({ tenantId: run.tenantId, id }))
    await escalateTasksOfRun({ ...deps, tx }, tasks, { at, assignedRole: role ?? undefined })
  }
  const asked = late.filter(({ element, role }) => role !== null && element.kind !== 'task' && element.escalationTaskId === null)
  const texts = asked.map(({ element, role }) => ({ run, text: { title: `Overdue: ${element.label}`, assignedRole: role as string } }))
  const ids = await createEscalationTasks(deps, tx, texts)
  const taskIds = new Map(asked.map(({ element }, nth) => [element.tokenId, ids[nth] ?? null]))
  const writes = late.flatMap(({ element, role }) => {
    const taskId = taskIds.get(element.tokenId)
    const changes = {
      ...(role !== null && element.kind === 'form' ? { escalated_role: role } : {}),
      ...(taskId === undefined ? {} : { escalation_task_id: taskId }),
    }
    return Object.keys(changes).length === 0 ? [] : [changeElement(element, changes)]
  })
  if (writes.length > 0) await executeWrites(tx, writes)
}
