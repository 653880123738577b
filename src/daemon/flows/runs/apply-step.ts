import { activeOf, type Board, type RunState, type Stepped } from '../../../core/boards/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { type Readers, withReaders } from '../../../core/runs/index.ts'
import type { Tx, Write } from '../../db/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { StepDeps } from './deps.ts'
import { changeElement } from './elements.repo.ts'
import { type HistoryInput, insertHistory, type Keyed } from './history.repo.ts'
import { applyElements } from './open-elements.ts'
import { publishStep } from './publish-step.ts'
import { enqueueReports } from './reports.ts'
import { alertOperators } from './run-alerts.ts'
import { insertKeyedRun, insertRun, type RunRecord, replaceRun, summaryOf } from './runs.repo.ts'
import { enqueueMessages } from './send-messages.ts'
import type { AppliedStep } from './step.types.ts'
import { deleteTimers, insertTimers, pauseTimers } from './timers.repo.ts'

type Step = Readonly<{
  /** The run before the step; a new run has no row yet. */
  run: RunRecord
  isNew?: boolean
  stepped: Stepped
  input: HistoryInput
  keyed?: Keyed | undefined
}>

/**
 * Stores a step with all its effects in the caller's transaction: run, history, elements, tasks, timers, jobs, events. The caller holds the lock
 * of the run. Returns undefined for a new run whose start key is taken.
 */
export async function applyStep(
  deps: StepDeps,
  tx: Tx,
  { run, isNew = false, stepped, input, keyed }: Step,
): Promise<RunRecord | undefined> {
  const board = await boardOf(tx, { tenantId: run.tenantId, boardId: run.boardId, version: run.boardVersion })
  const at = isoNow(deps.clock)
  const after = changed(run, board, { stepped, input })
  const isKeyed = isNew && after.startKey !== null
  if (isKeyed && !(await insertKeyedRun(tx, after))) return undefined
  const step = { run: after, board, effects: stepped.effects, at }
  const elements = await applyElements(deps, tx, step)
  const writes = [
    ...(isKeyed ? [] : [isNew ? insertRun(after) : replaceRun(after, at)]),
    ...elements,
    ...(input.type === 'approve' ? recordApprovals(after, input.elementId) : []),
    ...rowsOf(deps, step, { input, keyed }),
  ]
  await publishStep(deps, tx, { ...step, isNew, writes })
  await pauseIfFailed(tx, run.state, step)
  await alertOperators(deps, tx, { ...step, input })
  return after
}

/** History, timers, messages and reports of a step. */
const rowsOf = (deps: StepDeps, step: AppliedStep, { input, keyed }: Pick<Step, 'input' | 'keyed'>): Write[] => {
  const { tenantId, id: runId, state } = step.run
  return [
    insertHistory({ tenantId, runId, seq: state.seq, at: step.at, input, keyed }, summaryOf(step.run)),
    ...changeTimers(step),
    ...enqueueMessages(deps, step),
    ...enqueueReports(deps, step),
  ]
}

function changed(run: RunRecord, board: Board, { stepped, input }: Pick<Step, 'stepped' | 'input'>): RunRecord {
  const state = stepped.run
  const expiresAt = state.finishedAt && inDays(state.finishedAt, board.definition.retentionDays)
  const by = 'by' in input ? input.by : null
  const more: Readers = {
    users: by === null ? [] : [by],
    roles: stepped.effects.flatMap((effect) =>
      effect.type === 'opened' || effect.type === 'escalated' ? (effect.role ? [effect.role] : []) : [],
    ),
  }
  return { ...run, state, active: activeOf(board, state), readers: withReaders(run.readers, more), expiresAt }
}

const inDays = (from: string, days: number): string => new Date(Date.parse(from) + days * 86_400_000).toISOString()

function recordApprovals({ tenantId, id, state }: RunRecord, elementId: string): Write[] {
  const token = state.tokens.find((one) => one.elementId === elementId)
  if (!token) return []
  const approvals = JSON.stringify(token.approvals.map(({ userId }) => userId))
  return [changeElement({ tenantId, runId: id, tokenId: token.id }, { approvals })]
}

function changeTimers({ run, effects }: AppliedStep): Write[] {
  const { tenantId, id: runId, state } = run
  const gone = new Set(effects.flatMap((effect) => (effect.type === 'closed' ? [effect.token.id] : [])))
  const deleted = effects.flatMap((effect) => {
    if (effect.type === 'closed' && effect.token.dueAt !== null) return [deleteTimers({ tenantId, runId }, effect.token.id)]
    const isOfRun = effect.type === 'timers_cleared' && effect.tokenId === null && state.dueAt !== null
    return isOfRun ? [deleteTimers({ tenantId, runId })] : []
  })
  const set = effects.flatMap((effect) =>
    effect.type === 'timer_set' && !(effect.tokenId !== null && gone.has(effect.tokenId)) ? [effect] : [],
  )
  return set.length > 0 && !isOver(run) ? [...deleted, insertTimers({ tenantId, runId }, set)] : deleted
}

/** A run that ended has no timers. */
const isOver = ({ state }: RunRecord): boolean => state.finishedAt !== null && state.tokens.length === 0

async function pauseIfFailed(tx: Tx, before: RunState, { run }: AppliedStep): Promise<void> {
  const hasFailed = run.state.failure !== null && !isOver(run)
  // Also when a retry fails again: it may have set timers.
  if (hasFailed || before.failure !== null) await pauseTimers(tx, { tenantId: run.tenantId, runId: run.id }, hasFailed)
}
