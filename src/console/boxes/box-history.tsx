import { useQuery } from '@tanstack/react-query'
import { duration } from '../../core/kit/index.ts'
import { Ago, CliLine, Id, Link, Loaded, Section, Status, Timeline } from '../kit/index.ts'
import { historyQuery, snapshotsQuery } from './queries.ts'
import { words } from './words.ts'

/** The latest snapshots with their drills. */
export function Snapshots({ slug }: Readonly<{ slug: string }>) {
  const query = useQuery(snapshotsQuery(slug))
  return (
    <Section title={words.snapshots} aside={<Link to={`/snapshots?slug=${slug}`}>all, take, drill</Link>}>
      <Loaded query={query} rows={3}>
        {({ snapshots }) =>
          snapshots.length === 0 ? (
            <p className="dim">{words.noSnapshots}</p>
          ) : (
            <ul className="lines">
              {snapshots.slice(0, 5).map(({ snapshotId, tier, takenAt, status, lastProof }) => (
                <li key={snapshotId}>
                  <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id>
                  <span>{tier}</span>
                  <span className="grow">
                    <Ago at={takenAt} />
                  </span>
                  <Status tone={status !== 'present' ? 'failed' : lastProof ? 'ok' : 'off'}>
                    {status !== 'present'
                      ? status
                      : lastProof
                        ? `drilled${lastProof.durationMs ? ` in ${duration(lastProof.durationMs)}` : ''}`
                        : 'never drilled'}
                  </Status>
                  {status === 'present' && (
                    <Link to={`/snapshots?slug=${slug}&q=${snapshotId.slice(0, 8)}`}>
                      <span aria-hidden="true">restore</span>
                      <span className="unseen">restore from {snapshotId.slice(0, 8)}</span>
                    </Link>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

/** The events of the box, newest first, each with the page that says more. */
export function History({ slug }: Readonly<{ slug: string }>) {
  const query = useQuery(historyQuery(slug))
  return (
    <Section title={words.history} aside={<Link to={`/audit?subject=${slug}`}>{words.auditLog}</Link>}>
      <Loaded query={query} rows={3}>
        {(events) =>
          events.length === 0 ? (
            <p className="dim">{words.noHistory}</p>
          ) : (
            <Timeline
              label={words.history}
              entries={events.map(({ key, at, tone, text, to, detail }) => ({
                ...{ key, at, tone, detail },
                text: to ? <Link to={to}>{text}</Link> : text,
              }))}
            />
          )
        }
      </Loaded>
      <CliLine>{`tenantry audit list --subject ${slug}`}</CliLine>
    </Section>
  )
}
