import { type RunEffect, workerRole } from '../../../core/boards/index.ts'
import type { TenantEventType } from '../../../core/events/index.ts'
import { roleKey } from '../../../core/tasks/index.ts'
import { insertJobs, type Tx, type Write } from '../../db/index.ts'
import { recordEvents } from '../../events/index.ts'
import { noticeJob } from '../../notices/index.ts'
import type { StepDeps } from './deps.ts'
import type { RunRecord } from './runs.repo.ts'
import type { AppliedStep } from './step.types.ts'

type Published = Parameters<typeof recordEvents>[2]['events'][number]

/** The id of a checkpoint or form for clients. */
export const checkpointId = (runId: string, tokenId: string): string => `${runId}.${tokenId}`

/**
 * Stores the writes of a step and its events for those who may read the run: in order, in one statement, so that the tenant's counter is locked
 * briefly.
 */
export async function publishStep(
  { clock }: Pick<StepDeps, 'clock'>,
  tx: Tx,
  { run, board, effects, at, isNew, writes }: AppliedStep & Readonly<{ isNew: boolean; writes: readonly Write[] }>,
): Promise<void> {
  const audience = audienceOf(run)
  // The space keeps the events of a private one from triggers of other spaces and from modules that may not read it.
  const payload = { runId: run.id, boardId: run.boardId, spaceId: run.spaceId }
  const isCheckpoint = (elementId: string) => board.graph.elements.get(elementId)?.kind === 'checkpoint'
  const steps = [
    { type: isNew ? 'run.started' : 'run.advanced', payload } as const,
    ...effects.flatMap((effect) => eventsOf(effect, run, isCheckpoint)),
  ]
  // Each event has the ids of its type; the list has lost which is whose.
  const events = steps.map((event) => ({ ...event, audience })) as unknown as Published[]
  const notices = noticesOf({ run, board, effects, at, isNew })
  const jobs = notices.length === 0 ? [] : [insertJobs(clock, notices)]
  await recordEvents(tx, clock, { tenantId: run.tenantId, events, writes: [...writes, ...jobs] })
}

/**
 * Phones of those who approve a checkpoint or fill in a form that waits now; tasks notify by themselves. Without a role that is the user who started
 * the run. Not of a form that the same people reach by starting the run or by another form: they have the app open.
 */
function noticesOf({ run, board, effects, at, isNew }: AppliedStep & Readonly<{ isNew: boolean }>) {
  const closed = effects.flatMap((effect) => (effect.type === 'closed' ? [effect.token] : []))
  const formRole = (elementId: string) => {
    const element = board.graph.elements.get(elementId)
    return element?.kind === 'form' ? workerRole(board.definition, element.config) : undefined
  }
  const { startedBy } = run.state
  return effects.flatMap((effect) => {
    if (effect.type !== 'opened' || closed.some(({ id }) => id === effect.token.id)) return []
    const { token, role } = effect
    const isForm = formRole(token.elementId) !== undefined
    if (!isForm && board.graph.elements.get(token.elementId)?.kind !== 'checkpoint') return []
    if (isForm && closed.some(({ elementId }) => formRole(elementId) === role)) return []
    const notice = { tenantId: run.tenantId, kind: isForm ? 'task' : 'checkpoint', at } as const
    if (role !== null) return [noticeJob({ ...notice, role: roleKey(role) }, isForm && isNew ? startedBy : null)]
    return startedBy === null || (isForm && isNew) ? [] : [noticeJob({ ...notice, userId: startedBy }, null)]
  })
}

type Ids = Readonly<Record<string, string | null>>

function eventsOf(
  effect: RunEffect,
  { id: runId, boardId, spaceId }: RunRecord,
  isCheckpoint: (elementId: string) => boolean,
): readonly Readonly<{ type: TenantEventType; payload: Ids }>[] {
  if (effect.type === 'opened' || effect.type === 'closed') {
    const { elementId, id } = effect.token
    if (!isCheckpoint(elementId)) return []
    const type = effect.type === 'opened' ? 'checkpoint.created' : 'checkpoint.resolved'
    return [{ type, payload: { checkpointId: checkpointId(runId, id), runId, spaceId } }]
  }
  if (effect.type === 'sla_warning') return [{ type: 'sla.warning', payload: { runId, boardId, spaceId, elementId: effect.elementId } }]
  if (effect.type === 'ended')
    return [{ type: effect.status === 'completed' ? 'run.completed' : 'run.failed', payload: { runId, boardId, spaceId } }]
  return []
}

/** Those who may read the run (`mayRead`). */
const audienceOf = ({ spaceId, readers: { users, roles } }: RunRecord) => ({
  capability: 'manageRuns' as const,
  ...(spaceId === null ? {} : { within: [spaceId] }),
  ...(users.length > 0 ? { users: [...users] } : {}),
  ...(roles.length > 0 ? { roles: [...roles] } : {}),
})
