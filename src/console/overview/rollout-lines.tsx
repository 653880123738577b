import { listedState, progressText, type RolloutSummary } from '../../core/rollouts/index.ts'
import { Ago, Button, Link, Section, Status, useMay } from '../kit/index.ts'
import { rolloutTone } from '../rollouts/index.ts'
import { words } from './words.ts'

type Lines = Readonly<{ rollouts: readonly RolloutSummary[] }>

/** Paused rollouts: why each stopped, and what may be done about it. */
export const Decisions = ({ rollouts }: Lines) => (
  <Section title={words.decisions}>
    <ul className="lines">
      {rollouts.map((rollout) => (
        <li key={rollout.id} className="wraps">
          <div className="grow decision">
            <p className="counts">
              <Status tone="failed">{words.pausedIn(rollout.previousStatus)}</Status>
              <Link to={`/rollouts/${rollout.id}`}>{`Rollout ${rollout.id}`}</Link>
              <span>{progressOf(rollout)}</span>
            </p>
            <p>{causeOf(rollout)}</p>
          </div>
          <DecisionButtons id={rollout.id} />
        </li>
      ))}
    </ul>
  </Section>
)

/** The sentence without its advice, which the buttons give. */
const causeOf = ({ pauseReason }: RolloutSummary) => pauseReason?.replace(/\.? Next: .*$/s, '.')

/** They lead to the rollout, whose page asks before anything happens. */
function DecisionButtons({ id }: Readonly<{ id: string }>) {
  const { why } = useMay('rollouts', 'pauseRollout')
  const page = `/rollouts/${id}`
  return (
    <span className="page-actions">
      <Link to={page} className="button primary">
        {words.why}
      </Link>
      {why ? (
        <Button why={why}>{words.resume}</Button>
      ) : (
        <Link to={`${page}?do=resume`} className="button">
          {words.resume}
        </Link>
      )}
      {!why && (
        <Link to={`${page}?do=abort`} className="button">
          {words.abort}
        </Link>
      )}
    </span>
  )
}

export function ActiveRollouts({ rollouts }: Lines) {
  if (rollouts.length === 0) return <p className="dim">{words.noRollouts}</p>
  return (
    <ul className="lines">
      {rollouts.map((rollout) => (
        <li key={rollout.id}>
          <Status tone={rolloutTone(rollout)}>{listedState(rollout)}</Status>
          <span className="grow">
            <Link to={`/rollouts/${rollout.id}`}>{rollout.id}</Link> <span>{progressOf(rollout)}</span>
          </span>
          <span className="aside">
            started <Ago at={rollout.startedAt} none="not yet" />
          </span>
        </li>
      ))}
    </ul>
  )
}

const progressOf = ({ counts }: RolloutSummary) => progressText(counts)
