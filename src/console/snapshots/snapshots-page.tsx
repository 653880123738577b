import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { drilledMediaText } from '../../core/boxes/index.ts'
import { duration } from '../../core/kit/index.ts'
import { hasFailedSinceProof, isGone, type Snapshot, type SnapshotStatus } from '../../core/snapshots/index.ts'
import {
  Ago,
  agoColumn,
  Button,
  CliLine,
  Empty,
  Id,
  Link,
  ListPage,
  Section,
  Status,
  statusColumn,
  type TableColumn,
  type Tone,
  useMay,
  usePaletteAction,
  useSearchState,
} from '../kit/index.ts'
import { CommandLine, type Started } from './command-line.tsx'
import { DrillDialog, RestoreDialog, TakeDialog } from './dialogs.tsx'
import { type SnapshotFilter, snapshotsQuery } from './queries.ts'
import { words } from './words.ts'
import './snapshots.css'

const tones = { present: 'ok', forgotten: 'off', missing: 'failed', damaged: 'failed' } as const satisfies Record<SnapshotStatus, Tone>
const kinds = ['pre-update', 'daily', 'manual', 'pre-restore', 'final', 'recovered'] as const
const statuses = ['present', 'forgotten', 'missing', 'damaged'] as const

type Opened = Readonly<{ action: 'drill' | 'restore'; snapshot: Snapshot } | { action: 'take' }>

export function Page() {
  const [{ slug, kind, status, cursor }] = useSearchState()
  const filter: SnapshotFilter = {
    ...(slug ? { slug } : {}),
    ...(kind ? { tier: kind as Snapshot['tier'] } : {}),
    ...(status ? { status: status as SnapshotStatus } : {}),
    ...(cursor ? { cursor } : {}),
  }
  const query = useQuery(snapshotsQuery(filter))
  const [opened, setOpened] = useState<Opened>()
  const [started, setStarted] = useState<readonly Started[]>([])
  const why = useMay('snapshots', 'takeSnapshot').why
  usePaletteAction({ take: why ? undefined : () => setOpened({ action: 'take' }) })
  const add = (one: Started) => setStarted((before) => [one, ...before])
  const close = () => setOpened(undefined)
  return (
    <ListPage
      title={slug ? words.ofBox(slug) : words.title}
      label={words.title}
      answer={query.data && query.data.snapshots.length > 0 && answerOf(query.data.snapshots)}
      actions={
        <>
          {slug && (
            <Link to="/snapshots" className="button">
              {words.all}
            </Link>
          )}
          <Button look="primary" why={why} onPress={() => setOpened({ action: 'take' })}>
            {words.take}
          </Button>
        </>
      }
      above={
        started.length > 0 && (
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
        )
      }
      filters={[
        { text: 'Filter by box or id', of: ({ slug: box, snapshotId }) => `${box} ${snapshotId}` },
        { label: words.columns.kind, name: 'kind', choices: kinds },
        { label: 'Status', name: 'status', choices: statuses },
      ]}
      query={query}
      rows={({ snapshots }) => snapshots}
      columns={columnsOf(why, setOpened)}
      rowKey={({ snapshotId }) => snapshotId}
      empty={<NoSnapshots slug={slug} />}
      noMatch={words.none}
      next={({ nextCursor }) => nextCursor}
    >
      {opened?.action === 'take' && <TakeDialog slug={slug} onStarted={add} onClose={close} />}
      {opened?.action === 'drill' && <DrillDialog snapshot={opened.snapshot} onStarted={add} onClose={close} />}
      {opened?.action === 'restore' && <RestoreDialog snapshot={opened.snapshot} onStarted={add} onClose={close} />}
    </ListPage>
  )
}

function answerOf(snapshots: readonly Snapshot[]) {
  const present = snapshots.filter((one) => !isGone(one))
  const unproven = present.filter(({ lastProof }) => lastProof === null).length
  const isBad =
    present.some((one) => one.status === 'damaged' || hasFailedSinceProof(one)) || snapshots.some((one) => one.status === 'missing')
  return (
    <Status tone={isBad ? 'failed' : unproven > 0 ? 'warning' : 'ok'}>
      {words.answer(snapshots.length, new Set(snapshots.map(({ slug }) => slug)).size, unproven)}
    </Status>
  )
}

const NoSnapshots = ({ slug }: Readonly<{ slug: string | undefined }>) => (
  <Empty title={words.empty} tone="off">
    <p>{words.emptyNext}</p>
    <CliLine>{`tenantry snapshots take ${slug ?? '<slug>'}`}</CliLine>
  </Empty>
)

const columnsOf = (why: string | undefined, open: (opened: Opened) => void): readonly TableColumn<Snapshot>[] => [
  {
    key: 'box',
    title: words.columns.box,
    width: 'minmax(140px, 1fr)',
    value: ({ slug }) => slug,
    cell: ({ slug }) => <Link to={`/snapshots?slug=${slug}`}>{slug}</Link>,
  },
  {
    key: 'snapshot',
    title: words.columns.snapshot,
    width: '100px',
    value: ({ snapshotId }) => snapshotId,
    cell: ({ snapshotId }) => <Id short={snapshotId.slice(0, 8)}>{snapshotId}</Id>,
  },
  { key: 'tier', title: words.columns.kind, width: '88px', value: ({ tier }) => tier },
  agoColumn(['taken', words.columns.taken], ({ takenAt }) => takenAt),
  statusColumn(({ status }) => status, tones, { title: words.columns.status, width: '92px' }),
  {
    key: 'verified',
    title: words.columns.drilled,
    width: 'minmax(104px, 1fr)',
    value: ({ lastProof }) => lastProof?.at ?? '',
    cell: (snapshot) => <Proof snapshot={snapshot} />,
  },
  { key: 'kept', title: words.columns.kept, width: 'minmax(140px, 2fr)', value: ({ keptBecause }) => keptBecause },
  {
    key: 'added',
    narrow: 'hidden',
    title: words.columns.added,
    width: '64px',
    align: 'right',
    value: ({ addedBytes }) => addedBytes,
    cell: ({ addedBytes }) => (addedBytes === null ? <span className="dim">–</span> : words.size(addedBytes)),
  },
  {
    key: 'duration',
    narrow: 'hidden',
    title: words.columns.duration,
    width: '72px',
    align: 'right',
    value: ({ durationMs }) => durationMs,
    cell: ({ durationMs }) => (durationMs === null ? <span className="dim">–</span> : duration(durationMs)),
  },
  { key: 'synapse', narrow: 'hidden', title: words.columns.synapse, width: '80px', value: ({ installed }) => installed?.synapse },
  {
    key: 'actions',
    title: words.columns.actions,
    width: '140px',
    pinned: true,
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
      <span className="dim">{words.drilledIn(lastProof.durationMs)}</span>
      {lastDrill?.ok && lastDrill.media && <span className="dim">, {drilledMediaText(lastDrill.media)}</span>}
    </>
  )
}
