import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { BoardStructure } from '../../core/boards/index.ts'
import { problem } from '../../core/kit/index.ts'
import { canRetry, hasEnded, type OperatorRun, type OperatorRunDetail } from '../../core/runs/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  Id,
  KeyValues,
  Link,
  Loaded,
  PageHeader,
  queryClient,
  Section,
  Status,
  Timeline,
  useMay,
  useNow,
} from '../kit/index.ts'
import { Elements } from './elements.tsx'
import type { Mark } from './graph.tsx'
import { passedElements } from './passed.ts'
import { boardQuery, historyQuery, runStatus, runTones } from './queries.ts'
import { SpaceName } from './space-name.tsx'
import { words } from './words.ts'

type One = Readonly<{ slug: string; id: string }>
type Entry = Awaited<ReturnType<typeof api.runs.tenantRunHistory>>['entries'][number]

/** The published version of the board, with which a failed run may continue. */
const versionFor = (run: OperatorRun, board: BoardStructure | undefined): number | undefined => {
  const version = board?.publishedVersion ?? run.boardVersion
  return run.status === 'failed' && !hasEnded(run) && version !== run.boardVersion ? version : undefined
}

export function Page() {
  const one = useParams({ strict: false }) as One
  const run = useQuery({ queryKey: ['runs', one.slug, 'one', one.id], queryFn: () => api.runs.showTenantRun({ params: one }) })
  const [action, setAction] = useState<Action>()
  const board = useQuery({ ...boardQuery({ slug: one.slug, id: run.data?.boardId ?? '' }), enabled: run.data?.status === 'failed' })
  const version = run.data && versionFor(run.data, board.data)
  const { why } = useMay('runs', 'cancelTenantRuns')
  return (
    <>
      <PageHeader
        title={run.data?.boardName ?? one.id}
        answer={run.data && <Status tone={runTones[runStatus(run.data)]}>{runStatus(run.data)}</Status>}
        actions={
          run.data && (
            <>
              {run.data.failure && canRetry(run.data.failure) && (
                <Button look="primary" why={why} onPress={() => setAction('retry')}>
                  {words.retry}…
                </Button>
              )}
              {version !== undefined && (
                <Button why={why} onPress={() => setAction({ version })}>
                  {words.retryVersion(version)}…
                </Button>
              )}
              {!hasEnded(run.data) && (
                <Button why={why} onPress={() => setAction('cancel')}>
                  {words.cancel}…
                </Button>
              )}
            </>
          )
        }
      />
      <Loaded query={run} rows={6}>
        {(found) => (
          <>
            <RunFacts run={found} slug={one.slug} />
            <RunGraph slug={one.slug} run={found} />
            <History slug={one.slug} run={found} />
          </>
        )}
      </Loaded>
      <p className="dim">{words.kept}</p>
      {action && <Act one={one} action={action} onClose={() => setAction(undefined)} />}
    </>
  )
}

const RunFacts = ({ run, slug }: Readonly<{ run: OperatorRunDetail; slug: string }>) => (
  <KeyValues
    facts={[
      [
        'Tenant',
        <Link key="tenant" to={`/tenants/${slug}`}>
          {slug}
        </Link>,
      ],
      ['Board', <Link key="board" to={`/boards/${slug}/${run.boardId}`}>{`${run.boardName}, version ${run.boardVersion}`}</Link>],
      ['Space', run.spaceId && <SpaceName key="space" of={run} />],
      ['Trigger', run.trigger],
      ['Waits at', run.activeElementIds.join(', ')],
      ['Not delivered', run.undelivered.map(({ type, elementId }) => `${type} of ${elementId}`).join(', ')],
      ['Reason', run.failure && `${run.failure.code}: ${run.failure.message}`],
      ['Started', <Ago key="started" at={run.startedAt} />],
      ['Due', run.slaDeadline && <Ago key="due" at={run.slaDeadline} />],
      ['Ended', run.completedAt && <Ago key="ended" at={run.completedAt} />],
      ['Id', <Id key="id">{run.id}</Id>],
    ]}
  />
)

function RunGraph({ slug, run }: Readonly<{ slug: string; run: OperatorRunDetail }>) {
  const board = useQuery(boardQuery({ slug, id: run.boardId, version: run.boardVersion }))
  const now = useNow()
  return (
    <Loaded query={board} rows={6}>
      {(found) => <MarkedGraph board={found} run={run} now={now} />}
    </Loaded>
  )
}

type Marked = Readonly<{ board: BoardStructure; run: OperatorRunDetail; now: Date }>

function MarkedGraph({ board, run, now }: Marked) {
  const marks = useMemo(() => marksOf({ board, run, now }), [board, run, now])
  return <Elements board={board} marks={marks} />
}

/** Marks elements that are done, waiting, late or failed. */
function marksOf({ board, run, now }: Marked): ReadonlyMap<string, Mark> {
  const marks = new Map<string, Mark>()
  for (const id of passedElements(board, run)) marks.set(id, { tone: 'ok', text: 'done' })
  const isLate = run.slaDeadline !== null && run.completedAt === null && Date.parse(run.slaDeadline) < now.getTime()
  for (const id of run.activeElementIds) marks.set(id, isLate ? { tone: 'failed', text: 'late' } : { tone: 'waiting', text: 'waiting' })
  for (const { elementId } of run.undelivered) marks.set(elementId, { tone: 'failed', text: 'not delivered' })
  if (run.failure?.elementId) marks.set(run.failure.elementId, { tone: 'failed', text: run.failure.code })
  return marks
}

function History({ slug, run: { id, seq } }: Readonly<{ slug: string; run: OperatorRunDetail }>) {
  const [pages, setPages] = useState(1)
  const history = useQuery({ ...historyQuery({ slug, id, seq, pages }), placeholderData: (before) => before })
  return (
    <Section title={words.steps}>
      <Loaded query={history} rows={6}>
        {(entries) => (
          <>
            <Steps entries={entries} />
            {entries.length < seq && (
              <p>
                <Button onPress={() => setPages(pages + 1)} isDisabled={history.isPlaceholderData}>
                  {words.older}
                </Button>{' '}
                <span className="dim">{words.newest(entries.length, `tenantry runs history ${id} --tenant ${slug}`)}</span>
              </p>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

const Steps = ({ entries }: Readonly<{ entries: readonly Entry[] }>) => (
  <Timeline
    label={words.steps}
    entries={entries.toReversed().map(({ seq, at, type, elementId, boardVersion }) => ({
      key: String(seq),
      at,
      tone: 'ok' as const,
      text: [type, elementId, boardVersion && words.withVersion(boardVersion)].filter(Boolean).join(' · '),
    }))}
  />
)

/** `version`: a retry with this version of the board. */
type Action = 'cancel' | 'retry' | Readonly<{ version: number }>

function Act({ one: { slug, id }, action, onClose }: Readonly<{ one: One; action: Action; onClose(): void }>) {
  const cancels = action === 'cancel'
  const version = typeof action === 'object' ? action.version : undefined
  const retries = version === undefined ? words.retryConsequence : words.retryVersionConsequence(version)
  const command = `tenantry runs ${cancels ? 'cancel' : 'retry'} ${id} --tenant ${slug}`
  return (
    <ActionDialog
      title={cancels ? words.cancelTitle : words.retryTitle}
      consequence={cancels ? words.cancelConsequence : retries}
      confirm={cancels ? words.cancel : words.retry}
      danger={cancels}
      cli={() => (version === undefined ? command : `${command} --board-version ${version}`)}
      run={async () => {
        const call = { params: { slug }, body: { ids: [id] } }
        const { refused } = cancels
          ? await api.runs.cancelTenantRuns(call)
          : await api.runs.retryTenantRuns({ ...call, body: { ...call.body, boardVersion: version } })
        await queryClient.invalidateQueries({ queryKey: ['runs'] })
        const [first] = refused
        if (first) throw problem('CONFLICT', first.message)
      }}
      onClose={onClose}
    />
  )
}
