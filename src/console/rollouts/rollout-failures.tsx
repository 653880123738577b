import {
  type BoardModel,
  type BoardState,
  boxOf,
  errorOf,
  outcomeAfterFailure,
  outcomeWord,
  type RolloutAction,
  reasonWithout,
  type StillAsked,
  stillAskedText,
  stopText,
} from '../../core/rollouts/index.ts'
import { CliLine, Duration, Id, Link, Section, Status } from '../kit/index.ts'
import { words } from './words.ts'

const { page: text } = words

type AttentionProps = Readonly<{ state: BoardState; model: BoardModel; stillAsked: StillAsked | null }>

/** Why it stopped, what failed, and the commands that lead on. */
export function Attention({ state, model, stillAsked }: AttentionProps) {
  const { rollout } = state
  const failed = model.failures.flatMap(({ slug }) => boxOf(state.actions, slug) ?? [])
  const isCalm = model.failures.length === 0 && !model.reason && model.next.length === 0
  if (isCalm) return null
  return (
    <Section title={model.failures.length > 0 ? text.failures : text.next}>
      {model.reason && <p className="reason">{stopText(model.status, reasonWithout(model.reason, failed.map(errorOf)))}</p>}
      {stillAsked && (
        <p className="reason">
          {stillAskedText(stillAsked)}{' '}
          <Link to={stillAsked.formerRevision === null ? '/manifest' : `/manifest?revision=${stillAsked.formerRevision}`}>
            {text.formerManifest(stillAsked.formerRevision)}
          </Link>
        </p>
      )}
      {failed.length > 0 && (
        <ul className="failures">
          {failed.map((action) => (
            <FailureLine key={action.tenantSlug} id={rollout.id} action={action} />
          ))}
        </ul>
      )}
      {model.next.length > 0 && (
        <dl className="next">
          {model.next.map(({ label, command }) => (
            <div key={command}>
              <dt>{label}</dt>
              <dd>
                <CliLine>{command}</CliLine>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  )
}

function FailureLine({ id, action }: Readonly<{ id: string; action: RolloutAction }>) {
  const { tenantSlug, phase, attempt, durationMs, fencedMs, expectedFenceMs, snapshotId, waived } = action
  const error = errorOf(action)
  return (
    <li>
      <p className="failure-head">
        <Status tone={waived ? 'off' : 'failed'}>{outcomeWord(action)}</Status>
        <Link to={`/rollouts/${id}/boxes/${tenantSlug}`}>
          <b>{tenantSlug}</b>
        </Link>
        <span className="dim">{`${phase} · ${text.attempt(attempt)}${waived ? ` · ${text.skipped}` : ''}`}</span>
      </p>
      <p>
        {error ? error.message : text.noReason} {error && <code className="dim">{error.code}</code>}
      </p>
      <p className="failure-facts dim">
        <span>{outcomeAfterFailure(action)}</span>
        {durationMs !== null && (
          <span>
            {words.page.columns.duration.toLowerCase()} <Duration ms={durationMs} />
          </span>
        )}
        {fencedMs !== null && <span>{text.downtime(fencedMs, expectedFenceMs)}</span>}
        {snapshotId && (
          <span>
            {text.snapshot} <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id>
          </span>
        )}
        <Link to={`/rollouts/${id}/boxes/${tenantSlug}`}>{text.evidence}</Link>
      </p>
    </li>
  )
}
