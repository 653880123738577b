import { versionMoves } from '../../core/boxes/index.ts'
import { plural } from '../../core/kit/index.ts'
import { type BoardModel, type BoardState, phaseOf, updatedPercent } from '../../core/rollouts/index.ts'
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
        {model.phases.map(({ phase, state: phaseState, succeeded, total }) => (
          <li
            key={phase}
            className={phaseState === 'running' || phaseState === 'paused' || phaseState === 'failed' ? 'current' : undefined}
          >
            <Status tone={phaseTones[phaseState]} title={phaseState}>
              {phase} <span className="sr">{phaseState}</span>
            </Status>
            <span className={total === 0 ? 'dim' : undefined}>
              {total === 0 ? '–' : phaseState === 'done' ? total : `${succeeded}/${total}`}
            </span>
          </li>
        ))}
        <li className="change">{changeOf(state)}</li>
      </ol>
      <div className="progress" role="progressbar" aria-label={text.progress} aria-valuemin={0} aria-valuemax={100} aria-valuenow={share}>
        <span
          className={`fill tone-${phaseOf(state.rollout) ? 'working' : 'ok'}`}
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

/** The commonest change of versions: `synapse 1.157.1 → 1.163.2`. */
function changeOf({ plan }: BoardState): string {
  const moves = new Map<string, number>()
  for (const { from, to, does } of plan.boxes) {
    const move = does === 'update' ? versionMoves(from, to) : ''
    if (move) moves.set(move, (moves.get(move) ?? 0) + 1)
  }
  const [first, ...others] = [...moves].toSorted(([, a], [, b]) => b - a)
  return first ? `${first[0]}${others.length > 0 ? ` (and ${plural(others.length, 'other')})` : ''}` : ''
}
