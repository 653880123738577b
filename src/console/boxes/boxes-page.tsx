import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { type BoxRow, boxState } from '../../core/boxes/index.ts'
import {
  ActionDialog,
  agoColumn,
  Button,
  ChoiceFilter,
  DataTable,
  Empty,
  Link,
  Loaded,
  PageHeader,
  type SearchState,
  Status,
  type TableColumn,
  TextFilter,
  useMay,
  usePaletteAction,
  useSearchState,
} from '../kit/index.ts'
import { AdoptDialog } from './adopt-dialog.tsx'
import { boxTone, driftTones, filterBoxes, marksOf } from './box-state.ts'
import { boxesQuery } from './queries.ts'
import { type Scan, useScan } from './use-scan.ts'
import { driftWords, words } from './words.ts'

const driftRank = { none: 0, minor: 1, major: 2, unknown: 3 } as const

const columns: readonly TableColumn<BoxRow>[] = [
  { key: 'box', title: 'Box', width: 'minmax(160px, 2fr)', value: ({ slug }) => slug },
  { key: 'tenant', narrow: 'hidden', title: 'Tenant', width: 'minmax(100px, 2fr)', value: ({ tenant }) => tenant },
  { key: 'tier', narrow: 'hidden', title: 'Tier', width: '84px', value: ({ tier }) => tier },
  { key: 'host', title: 'Host', width: 'minmax(76px, 1fr)', value: ({ host }) => host },
  { key: 'state', title: 'State', width: '112px', value: boxState, cell: (box) => <Status tone={boxTone(box)}>{boxState(box)}</Status> },
  {
    key: 'drift',
    title: 'Drift',
    width: '88px',
    value: ({ severity }) => driftRank[severity],
    cell: ({ severity }) => <Status tone={driftTones[severity]}>{driftWords[severity]}</Status>,
  },
  { key: 'synapse', title: 'Synapse', width: '80px', value: ({ installed }) => known(installed.synapse) },
  { key: 'postgres', narrow: 'hidden', title: 'PostgreSQL', width: '98px', value: ({ installed }) => known(installed.postgres) },
  agoColumn(['reported', 'Last report'], ({ reportedAt }) => reportedAt),
  { key: 'marks', title: 'Marks', width: 'minmax(76px, 1fr)', value: marksOf },
]

const known = (version: string) => (version === 'unknown' ? null : version)

export function Page() {
  const query = useQuery(boxesQuery)
  const [search, change] = useSearchState()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [asks, setAsks] = useState(false)
  const [adopts, setAdopts] = useState(false)
  const { scan, start, dismiss } = useScan()
  const adoption = useMay('boxes', 'adoptBox')
  const { why, allowed } = useMay('boxes', 'scanBoxes')
  usePaletteAction({ scan: allowed ? () => setAsks(true) : undefined })
  const all = query.data
  const shown = useMemo(() => filterBoxes(all ?? [], search), [all, search])
  const chosen = useMemo(() => (selected.size === 0 ? shown : shown.filter(({ slug }) => selected.has(slug))), [shown, selected])
  const total = all?.filter(({ status }) => status !== 'removed').length ?? 0
  const isAll = chosen.length === total
  return (
    <>
      <PageHeader
        title={words.title}
        answer={all && <Answer shown={shown} total={total} />}
        actions={
          <>
            <Button why={adoption.why} onPress={() => setAdopts(true)}>
              {words.adopt}
            </Button>
            <Button look="primary" why={why} isDisabled={chosen.length === 0} onPress={() => setAsks(true)}>
              {selected.size > 0
                ? `${words.scan} ${chosen.length} selected`
                : isAll
                  ? `${words.scan} all`
                  : `${words.scan} these ${chosen.length}`}
            </Button>
          </>
        }
      />
      <div className="toolbar">
        <TextFilter label={words.filter} />
        <Filters boxes={all ?? []} />
      </div>
      {scan && <Progress scan={scan} onDismiss={dismiss} />}
      <Loaded query={query} rows={12}>
        {(boxes) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={shown}
            rowKey={keyOf}
            rowLink={linkOf}
            selection={{ selected, onChange: setSelected }}
            reserve={scan ? 232 : 196}
            empty={boxes.length === 0 ? <NoBoxes /> : <NoMatch onClear={() => change(cleared(search))} />}
          />
        )}
      </Loaded>
      {adopts && <AdoptDialog onClose={() => setAdopts(false)} />}
      {asks && (
        <ActionDialog
          title={words.scanTitle(chosen.length)}
          consequence={
            <>
              <p>{words.scanEffect}</p>
              {chosen.length <= listed && <p className="dim">{chosen.map(keyOf).join(', ')}</p>}
            </>
          }
          confirm={words.scan}
          cli={() => `tenantry boxes scan${isAll ? '' : chosen.length <= listed ? ` ${chosen.map(keyOf).join(' ')}` : ' <slugs>'}`}
          run={() => start(isAll ? undefined : chosen.map(keyOf))}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  )
}

const listed = 10
const keyOf = ({ slug }: BoxRow) => slug
const linkOf = ({ slug }: BoxRow) => `/boxes/${slug}`

function Answer({ shown, total }: Readonly<{ shown: readonly BoxRow[]; total: number }>) {
  const drifted = shown.filter(({ severity }) => severity === 'minor' || severity === 'major').length
  const unknown = shown.filter(({ severity }) => severity === 'unknown').length
  return (
    <>
      {words.shown(shown.length, total)}
      {shown.length > 0 && `: ${words.drifted(drifted, unknown)}`}
    </>
  )
}

const choicesOf = (values: readonly string[]) => [...new Set(values)].toSorted().map((value) => ({ value, label: value }))

function Filters({ boxes }: Readonly<{ boxes: readonly BoxRow[] }>) {
  const hosts = useMemo(() => choicesOf(boxes.map(({ host }) => host)), [boxes])
  const versions = useMemo(() => choicesOf(boxes.map(({ installed }) => installed.synapse)), [boxes])
  const states = useMemo(() => choicesOf(boxes.map(boxState)), [boxes])
  const tiers = useMemo(() => choicesOf(boxes.map(({ tier }) => tier)), [boxes])
  return (
    <>
      <ChoiceFilter label={words.drift} name="drift" choices={Object.entries(driftWords).map(([value, label]) => ({ value, label }))} />
      <ChoiceFilter label={words.state} name="state" choices={states} />
      <ChoiceFilter label={words.tier} name="tier" choices={tiers} />
      <ChoiceFilter label={words.host} name="host" choices={hosts} />
      <ChoiceFilter label="Synapse" name="version" choices={versions} />
    </>
  )
}

const cleared = (search: SearchState): SearchState =>
  Object.fromEntries(
    Object.keys(search)
      .filter((key) => key !== 'sort')
      .map((key) => [key, undefined]),
  )

const NoBoxes = () => (
  <Empty title={words.empty} tone="off">
    <p>{words.emptyHint}</p>
  </Empty>
)

const NoMatch = ({ onClear }: Readonly<{ onClear(): void }>) => (
  <Empty title={words.noMatch} tone="off">
    <Button onPress={onClear}>{words.clear}</Button>
  </Empty>
)

function Progress({ scan, onDismiss }: Readonly<{ scan: Scan; onDismiss(): void }>) {
  const { all, answered, changed, isOver, skipped, hosts } = scan
  const away = all - answered
  return (
    <div className="note" role="status">
      <Status tone={!isOver ? 'working' : away + skipped > 0 ? 'waiting' : 'ok'}>
        {isOver ? words.scanned(answered) : words.scanning(answered, all)}
      </Status>
      {!isOver && <progress max={all} value={answered} aria-label={words.scanning(answered, all)} />}
      <span>
        {isOver && away > 0 && `${words.stillAway(away)} · `}
        {skipped > 0 && `${words.unreachable(skipped, hosts)} · `}
        {words.changed(changed.length)}
        {changed.slice(0, 5).map((slug) => (
          <span key={slug}>
            {' '}
            <Link to={`/boxes/${slug}`}>{slug}</Link>
          </span>
        ))}
      </span>
      {isOver && (
        <Button look="quiet" onPress={onDismiss}>
          {words.dismiss}
        </Button>
      )}
    </div>
  )
}
