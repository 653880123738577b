import { activeOf, type Board, type RunEffect, type RunState, type Stepped } from '../../core/boards/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { type Readers, withReaders } from '../../core/runs/index.ts'
import type { Tx } from '../db/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { StepDeps } from './deps.ts'
import { changeElement } from './elements.repo.ts'
import { type HistoryInput, insertHistory, type Keyed } from './history.repo.ts'
import { applyElements } from './open-elements.ts'
import { publishStep } from './publish-step.ts'
import { enqueueReports } from './reports.ts'
import { alertOperators } from './run-alerts.ts'
import { insertRun, type RunRecord, replaceRun, summaryOf } from './runs.repo.ts'
import { enqueueMessages } from './send-messages.ts'
import { escalateStalled } from './stalled-checkpoints.ts'
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
  const after = changed(run, board, { stepped, input })
  if (isNew && !(await insertRun(tx, after))) return undefined
  const at = isoNow(deps.clock)
  const step = { run: after, board, effects: stepped.effects, at }
  await applyElements(deps, tx, step)
  if (input.type === 'approve') await recordApprovals(tx, after, input.elementId)
  const stalled = await escalateStalled(deps, tx, step)
  await applyTimers(tx, run.state, step)
  await enqueueMessages(deps, tx, step)
  await enqueueReports(deps, tx, step)
  if (!isNew) await replaceRun(tx, after, at)
  await insertHistory(tx, { tenantId: run.tenantId, runId: run.id, seq: after.state.seq, at, input, keyed }, summaryOf(after))
  await publishStep(deps, tx, { ...step, isNew })
  await alertOperators(deps, tx, { ...step, stalled })
  return after
}

/** A step while its effects are applied. `run` is the run after it. */
export type AppliedStep = Readonly<{ run: RunRecord; board: Board; effects: readonly RunEffect[]; at: string }>

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

async function recordApprovals(tx: Tx, { tenantId, id, state }: RunRecord, elementId: string): Promise<void> {
  const token = state.tokens.find((one) => one.elementId === elementId)
  if (!token) return
  const approvals = JSON.stringify(token.approvals.map(({ userId }) => userId))
  await changeElement(tx, { tenantId, runId: id, tokenId: token.id }, { approvals })
}

async function applyTimers(tx: Tx, before: RunState, { run, effects }: AppliedStep): Promise<void> {
  const { tenantId, id: runId, state } = run
  const gone = new Set(effects.flatMap((effect) => (effect.type === 'closed' ? [effect.token.id] : [])))
  for (const effect of effects) {
    if (effect.type === 'closed' && effect.token.dueAt !== null) await deleteTimers(tx, { tenantId, runId }, effect.token.id)
    if (effect.type === 'timers_cleared' && effect.tokenId === null && state.dueAt !== null) await deleteTimers(tx, { tenantId, runId })
  }
  const set = effects.flatMap((effect) =>
    effect.type === 'timer_set' && !(effect.tokenId !== null && gone.has(effect.tokenId)) ? [effect] : [],
  )
  // A run that ended in this step has no timers.
  const isOver = state.finishedAt !== null && state.tokens.length === 0
  if (set.length > 0 && !isOver) await insertTimers(tx, { tenantId, runId }, set)
  const hasFailed = state.failure !== null && !isOver
  // Also when a retry fails again: it may have set timers.
  if (hasFailed || before.failure !== null) await pauseTimers(tx, { tenantId, runId }, hasFailed)
}
