import { plural } from '../../core/kit/index.ts'
import {
  type BoardModel,
  type BoardState,
  boxOf,
  lastMoveText,
  type PhaseLine,
  type PhaseState,
  phaseOf,
  updatedPercent,
} from '../../core/rollouts/index.ts'
import { Ago, Icon, Status } from '../kit/index.ts'
import { phaseTones } from './tones.ts'
import { words } from './words.ts'

const { page: text } = words

/** Each phase with its state, the commonest change of versions, and the progress. */
export function Phases({ state, model }: Readonly<{ state: BoardState; model: BoardModel }>) {
  const share = updatedPercent(model)
  return (
    <section className="section" aria-label={text.phases}>
      <ol className="phases">
        {model.phases.map((line) => (
          <li key={line.phase} className={currentStates.includes(line.state) ? 'current' : undefined}>
            <Status tone={phaseTones[line.state]} title={line.state}>
              {line.phase} <span className="sr">{line.state}</span>
            </Status>
            <span className={line.total === 0 ? 'dim' : undefined}>{phaseCount(line)}</span>
          </li>
        ))}
        <li className="change">{changeOf(state)}</li>
      </ol>
      <div className="progress" role="progressbar" aria-label={text.progress} aria-valuemin={0} aria-valuemax={100} aria-valuenow={share}>
        <span
          className={`fill tone-${model.rollback ? 'warning' : phaseOf(state.rollout) ? 'working' : 'ok'}`}
          style={{ width: `${(model.progress - model.failedShare) * 100}%` }}
        />
        <span className="fill tone-failed" style={{ width: `${model.failedShare * 100}%` }} />
      </div>
      {(model.queued || model.waiting) && (
        <p className="note">
          <Icon tone="waiting" />
          {model.queued && <span>{`waiting ${model.queued}`}</span>}
          {model.waiting && (
            <span>
              {text.windows(model.waiting.boxes)} <Ago at={model.waiting.until} />
            </span>
          )}
        </p>
      )}
    </section>
  )
}

const currentStates: readonly PhaseState[] = ['running', 'paused', 'failed', 'rolling back']

function phaseCount({ state, succeeded, rollback, total }: PhaseLine): string {
  if (total === 0) return '–'
  if (rollback) return text.phaseRollback(rollback.rolledBack, rollback.total)
  return state === 'done' ? `${total}` : `${succeeded}/${total}`
}

/** The commonest change of versions: `synapse 1.157.1 → 1.163.2`, or back after a rollback. */
function changeOf({ plan, actions }: BoardState): string {
  const moves = new Map<string, number>()
  const updates = plan.boxes.filter(({ does }) => does === 'update')
  const boxes = updates.map(({ tenantSlug, from, to }) => ({ from, to, rollback: boxOf(actions, tenantSlug)?.rollback ?? null }))
  const rolledBack = boxes.filter(({ rollback }) => rollback?.status === 'done')
  for (const box of rolledBack.length > 0 ? rolledBack : boxes) {
    const move = lastMoveText(box)
    if (move) moves.set(move, (moves.get(move) ?? 0) + 1)
  }
  const [first, ...others] = [...moves].toSorted(([, a], [, b]) => b - a)
  return first ? `${first[0]}${others.length > 0 ? ` (and ${plural(others.length, 'other')})` : ''}` : ''
}
