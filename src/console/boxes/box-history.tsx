import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { duration } from '../../core/kit/index.ts'
import { Ago, type api, CliLine, Id, Link, Loaded, Section, Status, Timeline } from '../kit/index.ts'
import { historyQuery, snapshotsQuery } from './queries.ts'
import { words } from './words.ts'

/** The latest snapshots with their drills. */
export function Snapshots({ slug }: Readonly<{ slug: string }>) {
  const query = useQuery(snapshotsQuery(slug))
  return (
    <Section title={words.snapshots} aside={<Link to={`/snapshots?slug=${slug}`}>all, take, drill, restore</Link>}>
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
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

type History = Awaited<ReturnType<typeof api.audit.listAudit>>

/** Changes of the box by operators. */
export function History({ slug }: Readonly<{ slug: string }>) {
  const query: UseQueryResult<History> = useQuery(historyQuery(slug))
  return (
    <Section title={words.history}>
      <Loaded query={query} rows={3}>
        {({ entries }) =>
          entries.length === 0 ? (
            <p className="dim">{words.noHistory}</p>
          ) : (
            <Timeline
              label={words.history}
              entries={entries.map(({ chain, seq, at, actor, action, data }) => ({
                ...{ key: `${chain} ${seq}`, at, tone: 'off' as const, text: action },
                detail: `${actor}${reasonIn(data)}`,
              }))}
            />
          )
        }
      </Loaded>
      <CliLine>{`tenantry boxes show ${slug}`}</CliLine>
    </Section>
  )
}

const reasonIn = (data: unknown): string => {
  const { reason } = (data ?? {}) as { reason?: unknown }
  return typeof reason === 'string' ? `: ${reason}` : ''
}
