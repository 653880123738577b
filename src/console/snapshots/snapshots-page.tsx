import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { duration } from '../../core/kit/index.ts'
import { hasFailedSinceProof, isGone, type Snapshot, type SnapshotStatus } from '../../core/snapshots/index.ts'
import {
  Ago,
  Button,
  ChoiceFilter,
  CliLine,
  DataTable,
  Empty,
  Id,
  Link,
  Loaded,
  PageHeader,
  Section,
  Status,
  type TableColumn,
  TextFilter,
  type Tone,
  useAsked,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { CommandLine, type Started } from './command-line.tsx'
import { DrillDialog, RestoreDialog, TakeDialog } from './dialogs.tsx'
import { type SnapshotFilter, snapshotsQuery } from './queries.ts'
import { words } from './words.ts'
import './snapshots.css'

const tones = { present: 'ok', forgotten: 'off', missing: 'failed', damaged: 'failed' } as const satisfies Record<SnapshotStatus, Tone>
const tiers = ['pre-update', 'daily', 'manual', 'pre-restore', 'final'] as const
const statuses = ['present', 'forgotten', 'missing', 'damaged'] as const
const asChoice = (value: string) => ({ value, label: value })

type Opened = Readonly<{ action: 'drill' | 'restore'; snapshot: Snapshot } | { action: 'take' }>

export function Page() {
  const [search, change] = useSearchState()
  const { slug, tier, status, cursor, q = '' } = search
  const filter: SnapshotFilter = {
    ...(slug ? { slug } : {}),
    ...(tier ? { tier: tier as Snapshot['tier'] } : {}),
    ...(status ? { status: status as SnapshotStatus } : {}),
    ...(cursor ? { cursor } : {}),
  }
  const query = useQuery(snapshotsQuery(filter))
  const [opened, setOpened] = useState<Opened>()
  const [started, setStarted] = useState<readonly Started[]>([])
  const why = useMay('snapshots', 'takeSnapshot').why
  useAsked({ take: why ? undefined : () => setOpened({ action: 'take' }) })
  const add = (one: Started) => setStarted((before) => [one, ...before])
  const close = () => setOpened(undefined)
  const isFiltered = [slug, tier, status, cursor, q].some(Boolean)
  return (
    <>
      <PageHeader
        title={slug ? words.ofBox(slug) : words.title}
        answer={query.data && query.data.snapshots.length > 0 && answerOf(query.data.snapshots)}
        actions={
          <Button look="primary" why={why} onPress={() => setOpened({ action: 'take' })}>
            {words.take}
          </Button>
        }
      />
      {started.length > 0 && (
        <Section title={words.commands}>
          <ul className="lines">
            {started.map((one) => (
              <CommandLine
                key={one.commandId}
                started={one}
                onDismiss={() => setStarted((before) => before.filter(({ commandId }) => commandId !== one.commandId))}
              />
            ))}
          </ul>
        </Section>
      )}
      <div className="toolbar">
        <TextFilter label="Filter by box or id" />
        <ChoiceFilter label="Tier" name="tier" choices={tiers.map(asChoice)} />
        <ChoiceFilter label="Status" name="status" choices={statuses.map(asChoice)} />
        {slug && <Link to="/snapshots">{words.all}</Link>}
      </div>
      <Loaded query={query} rows={8}>
        {({ snapshots, nextCursor }) => (
          <>
            <DataTable
              label={words.title}
              columns={columnsOf(why, setOpened)}
              rows={snapshots.filter((one) => one.slug.includes(q.toLowerCase()) || one.snapshotId.startsWith(q.toLowerCase()))}
              rowKey={({ snapshotId }) => snapshotId}
              empty={<NoSnapshots isFiltered={isFiltered} slug={slug} />}
            />
            {nextCursor && (
              <p className="more">
                <Button onPress={() => change({ cursor: nextCursor })}>{words.more}</Button>
              </p>
            )}
          </>
        )}
      </Loaded>
      {opened?.action === 'take' && <TakeDialog slug={slug} onStarted={add} onClose={close} />}
      {opened?.action === 'drill' && <DrillDialog snapshot={opened.snapshot} onStarted={add} onClose={close} />}
      {opened?.action === 'restore' && <RestoreDialog snapshot={opened.snapshot} onStarted={add} onClose={close} />}
    </>
  )
}

function answerOf(snapshots: readonly Snapshot[]) {
  const present = snapshots.filter((one) => !isGone(one))
  const unproven = present.filter(({ lastProof }) => lastProof === null).length
  const isBad =
    present.some((one) => one.status === 'damaged' || hasFailedSinceProof(one)) || snapshots.some((one) => one.status === 'missing')
  return (
    <Status tone={isBad ? 'failed' : unproven > 0 ? 'waiting' : 'ok'}>
      {words.answer(snapshots.length, new Set(snapshots.map(({ slug }) => slug)).size, unproven)}
    </Status>
  )
}

const NoSnapshots = ({ isFiltered, slug }: Readonly<{ isFiltered: boolean; slug: string | undefined }>) =>
  isFiltered ? (
    <Empty title={words.none} tone="off">
      <Link to="/snapshots">{words.all}</Link>
      {slug && <CliLine>{`tenantry snapshots take ${slug}`}</CliLine>}
    </Empty>
  ) : (
    <Empty title={words.empty} tone="off">
      <p>{words.emptyNext}</p>
      <CliLine>{'tenantry snapshots take <slug>'}</CliLine>
    </Empty>
  )

const columnsOf = (why: string | undefined, open: (opened: Opened) => void): readonly TableColumn<Snapshot>[] => [
  {
    key: 'box',
    title: words.columns.box,
    width: 'minmax(150px, 1fr)',
    value: ({ slug }) => slug,
    cell: ({ slug }) => <Link to={`/snapshots?slug=${slug}`}>{slug}</Link>,
  },
  {
    key: 'snapshot',
    title: words.columns.snapshot,
    width: '104px',
    value: ({ snapshotId }) => snapshotId,
    cell: ({ snapshotId }) => <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id>,
  },
  { key: 'tier', title: words.columns.tier, width: '92px', value: ({ tier }) => tier },
  { key: 'taken', title: words.columns.taken, width: '92px', value: ({ takenAt }) => takenAt, cell: ({ takenAt }) => <Ago at={takenAt} /> },
  {
    key: 'status',
    title: words.columns.status,
    width: '96px',
    value: ({ status }) => status,
    cell: ({ status }) => <Status tone={tones[status]}>{status}</Status>,
  },
  {
    key: 'verified',
    title: words.columns.verified,
    width: '168px',
    value: ({ lastProof }) => lastProof?.at ?? '',
    cell: (snapshot) => <Proof snapshot={snapshot} />,
  },
  { key: 'kept', title: words.columns.kept, width: 'minmax(140px, 1fr)', value: ({ keptBecause }) => keptBecause },
  {
    key: 'added',
    title: words.columns.added,
    width: '76px',
    align: 'right',
    value: ({ addedBytes }) => addedBytes,
    cell: ({ addedBytes }) => (addedBytes === null ? <span className="dim">–</span> : words.size(addedBytes)),
  },
  {
    key: 'duration',
    title: words.columns.duration,
    width: '84px',
    align: 'right',
    value: ({ durationMs }) => durationMs,
    cell: ({ durationMs }) => (durationMs === null ? <span className="dim">–</span> : duration(durationMs)),
  },
  { key: 'synapse', title: words.columns.synapse, width: '84px', value: ({ installed }) => installed?.synapse },
  {
    key: 'actions',
    title: words.columns.actions,
    width: '152px',
    sortable: false,
    value: () => null,
    cell: (snapshot) => {
      const refused = why ?? (isGone(snapshot) ? words.gone : undefined)
      const name = `${snapshot.snapshotId.slice(0, 8)} of ${snapshot.slug}`
      return (
        <span className="row-actions">
          <Button look="quiet" why={refused} aria-label={`Drill ${name}`} onPress={() => open({ action: 'drill', snapshot })}>
            {words.drill}
          </Button>
          <Button look="quiet" why={refused} aria-label={`Restore ${name}`} onPress={() => open({ action: 'restore', snapshot })}>
            {words.restore}
          </Button>
        </span>
      )
    },
  },
]

function Proof({ snapshot }: Readonly<{ snapshot: Snapshot }>) {
  const { lastDrill, lastProof } = snapshot
  if (hasFailedSinceProof(snapshot))
    return (
      <Status tone="failed" title={lastDrill?.error?.message}>
        {words.failedProof} <Ago at={lastDrill?.at} />
      </Status>
    )
  if (!lastProof) return <span className="dim">{words.never}</span>
  return (
    <>
      <Ago at={lastProof.at} />
      <span className="dim">{words.verifiedIn(lastProof.durationMs)}</span>
    </>
  )
}
