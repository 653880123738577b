import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import type { ChainReport } from '../../core/audit/index.ts'
import {
  Ago,
  api,
  Breakable,
  Button,
  CliLine,
  DayFilter,
  dayAndTime,
  Empty,
  Id,
  Loading,
  PageHeader,
  ProblemView,
  Status,
  startOfDay,
  TextFilter,
  useSearchState,
} from '../kit/index.ts'
import { words } from './words.ts'

type Entry = Awaited<ReturnType<typeof api.audit.listAudit>>['entries'][number]

const pageSize = 100

export function Page() {
  const [{ actor, action, subject, chain, from, to }] = useSearchState()
  const [since, until] = [startOfDay(from), startOfDay(to, { after: 1 })]
  const filter = {
    ...(actor && { actor }),
    ...(action && { action }),
    ...(subject && { subject }),
    ...(chain && { chain: chainOf(chain) }),
    ...(since && { since }),
    ...(until && { until }),
  }
  const audit = useInfiniteQuery({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam }) => api.audit.listAudit({ query: { ...filter, limit: pageSize, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: false,
  })
  const entries = audit.data?.pages.flatMap((page) => page.entries) ?? []
  return (
    <>
      <PageHeader title={words.title} actions={<Verify />} />
      <div className="toolbar">
        <TextFilter label={words.actor} name="actor" />
        <TextFilter label={words.action} name="action" />
        <TextFilter label={words.subject} name="subject" />
        <TextFilter label={words.chain} name="chain" />
        <DayFilter label={words.from} name="from" />
        <DayFilter label={words.to} name="to" />
      </div>
      {audit.isError && <ProblemView error={audit.error} onRetry={() => void audit.refetch()} />}
      {audit.isPending ? <Loading rows={10} /> : <Entries entries={entries} isFiltered={Object.keys(filter).length > 0} />}
      {audit.hasNextPage && (
        <p>
          <Button onPress={() => void audit.fetchNextPage()} isDisabled={audit.isFetchingNextPage}>
            {words.more}
          </Button>
        </p>
      )}
      <CliLine>{`tenantry audit list${Object.entries(filter)
        .map(([name, value]) => ` --${name} ${value}`)
        .join('')}`}</CliLine>
    </>
  )
}

/** `ro_…` and `cve-…` mean the chain of that rollout. */
const chainOf = (name: string): string => (/^(ro_|cve-)/.test(name) ? `rollout:${name}` : name)

function Entries({ entries, isFiltered }: Readonly<{ entries: readonly Entry[]; isFiltered: boolean }>) {
  const [open, setOpen] = useState<number>()
  if (entries.length === 0) return <Empty title={isFiltered ? words.none : words.noneYet} tone="off" />
  return (
    <table className="plain-table stack names" aria-label={words.title}>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Actor</th>
          <th scope="col">Action</th>
          <th scope="col">Subject</th>
          <th scope="col" className="right">
            Entry
          </th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <Fragment key={entry.seq}>
            <tr>
              <td>
                <When at={entry.at} />
              </td>
              <td data-label="by">
                <Breakable>{entry.actor}</Breakable>
              </td>
              <td>
                <Breakable>{entry.action}</Breakable>
              </td>
              <td>{entry.subject && <Breakable>{entry.subject}</Breakable>}</td>
              <td className="right" data-label="entry">
                <Button
                  look="quiet"
                  aria-expanded={open === entry.seq}
                  aria-label={`Entry ${entry.seq}: ${entry.action}`}
                  onPress={() => setOpen(open === entry.seq ? undefined : entry.seq)}
                >
                  {entry.seq}
                </Button>
              </td>
            </tr>
            {open === entry.seq && (
              <tr>
                <td colSpan={5}>
                  <pre className="source">{JSON.stringify(entry.data, null, 2)}</pre>
                  <p className="dim">
                    hash <Id short={entry.hash.slice(0, 16)}>{entry.hash}</Id> · previous{' '}
                    <Id short={entry.previousHash.slice(0, 16)}>{entry.previousHash}</Id>
                  </p>
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  )
}

/** Operators look entries up by day; the age is beside it. */
const When = ({ at }: Readonly<{ at: string }>) => (
  <>
    {dayAndTime(at)}{' '}
    <span className="dim">
      <Ago at={at} />
    </span>
  </>
)

function Verify() {
  const verify = useMutation({ mutationFn: () => api.audit.verifyAudit({ query: {} }) })
  return (
    <>
      {verify.isError && <ProblemView error={verify.error} />}
      {verify.data && <Verdict chains={verify.data.chains} />}
      <Button onPress={() => verify.mutate()} isDisabled={verify.isPending}>
        {verify.isPending ? words.verifying : words.verify}
      </Button>
    </>
  )
}

function Verdict({ chains }: Readonly<{ chains: readonly ChainReport[] }>) {
  const broken = chains.find(({ ok }) => !ok)
  return broken ? (
    <Status tone="failed" title={broken.reason}>
      {words.broken(broken.chain, broken.brokenAt)}
    </Status>
  ) : (
    <Status tone="ok">{words.verified(chains.length)}</Status>
  )
}
