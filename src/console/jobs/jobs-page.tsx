import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Job, JobCount, JobState } from '../../core/jobs/index.ts'
import {
  ActionDialog,
  agoColumn,
  api,
  Button,
  Empty,
  ListPage,
  queryClient,
  Status,
  type TableColumn,
  type Tone,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { words } from './words.ts'

const tones = { waiting: 'waiting', away: 'waiting', dead: 'failed' } as const satisfies Record<JobState, Tone>

const columns: readonly TableColumn<Job>[] = [
  { key: 'id', title: 'No', width: '80px', value: ({ id }) => id },
  { key: 'topic', narrow: 'title', title: 'Topic', width: 'minmax(220px, 2fr)', value: ({ topic }) => topic },
  {
    key: 'state',
    title: 'Status',
    width: '120px',
    value: ({ state }) => state,
    cell: ({ state }) => <Status tone={tones[state]}>{words.states[state]}</Status>,
  },
  { key: 'tenant', title: 'Tenant', width: '140px', value: ({ tenant }) => tenant },
  { key: 'attempts', title: 'Attempts', width: '80px', align: 'right', value: ({ attempts }) => attempts },
  agoColumn(['created', 'Created'], ({ createdAt }) => createdAt),
  agoColumn(['next', 'Next'], ({ nextAt }) => nextAt, { none: 'retry only' }),
  {
    key: 'error',
    title: 'Last error',
    width: 'minmax(140px, 2fr)',
    value: ({ lastError }) => lastError,
    cell: ({ lastError }) => <span title={lastError ?? undefined}>{lastError ?? ''}</span>,
  },
]

const states = Object.entries(words.states).map(([value, label]) => ({ value, label }))
const pageLimit = 200

export function Page() {
  const [{ state }] = useSearchState()
  const jobs = useQuery({
    queryKey: ['jobs', 'list', state ?? ''],
    queryFn: () => api.jobs.listJobs({ query: { limit: pageLimit, ...(state ? { state: state as JobState } : {}) } }),
  })
  const [retrying, setRetrying] = useState(false)
  const { why } = useMay('jobs', 'retryJobs')
  const dead = jobs.data ? countOf(jobs.data.counts, 'dead') : 0
  return (
    <ListPage
      title={words.jobs}
      answer={jobs.data && (dead === 0 ? <Status tone="ok">{words.calm}</Status> : <Status tone="failed">{words.dead(dead)}</Status>)}
      actions={
        dead > 0 && (
          <Button why={why} onPress={() => setRetrying(true)}>
            {words.retry}…
          </Button>
        )
      }
      filters={[{ label: 'Status', name: 'state', choices: states }]}
      query={jobs}
      rows={({ jobs: rows }) => rows}
      columns={columns}
      rowKey={({ id }) => String(id)}
      empty={<Empty title={words.noJobs} />}
      noMatch={words.noMatch}
      below={({ counts, nextCursor }) => nextCursor && <p className="dim">{`The oldest ${pageLimit} are shown: ${topicWords(counts)}`}</p>}
      reserve={260}
    >
      {retrying && (
        <ActionDialog
          title={words.retryTitle}
          consequence={words.retryConsequence(dead)}
          confirm={words.retry}
          cli={() => 'tenantry jobs retry'}
          run={async () => {
            await api.jobs.retryJobs({ body: {} })
            await queryClient.invalidateQueries({ queryKey: ['jobs'] })
          }}
          onClose={() => setRetrying(false)}
        />
      )}
    </ListPage>
  )
}

const countOf = (counts: readonly JobCount[], state: JobState) =>
  counts.filter((one) => one.state === state).reduce((sum, { count }) => sum + count, 0)

const topicWords = (counts: readonly JobCount[]) =>
  counts.map(({ topic, state, count }) => `${count} ${topic} ${words.states[state]}`).join(' · ')
