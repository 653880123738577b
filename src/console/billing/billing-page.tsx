import { useMutation, useQuery } from '@tanstack/react-query'
import type { Difference, Payout, Preview, UsageRow } from '../../core/billing/index.ts'
import { moneyText } from '../../core/payments/index.ts'
import {
  allPages,
  api,
  Button,
  DataTable,
  Empty,
  Loaded,
  PageHeader,
  ProblemView,
  Section,
  Status,
  statusColumn,
  type TableColumn,
  type Tone,
  useMay,
} from '../kit/index.ts'
import { words } from './words.ts'

const usageTones = {
  planned: 'waiting',
  reported: 'ok',
  billed: 'ok',
  paid: 'ok',
  refunded: 'waiting',
  void: 'waiting',
  unbilled: 'failed',
} as const satisfies Record<UsageRow['state'], Tone>

const usageColumns: readonly TableColumn<UsageRow>[] = [
  { key: 'tenant', title: 'Tenant', width: 'minmax(140px, 1fr)', value: ({ tenant }) => tenant },
  { key: 'month', title: 'Month', width: '90px', value: ({ month }) => month },
  { key: 'subject', title: 'Item or module', width: 'minmax(140px, 1fr)', value: ({ subject }) => subject },
  { key: 'quantity', title: 'Quantity', width: '90px', align: 'right', value: ({ quantity }) => quantity },
  {
    key: 'amount',
    title: 'Amount',
    width: '120px',
    align: 'right',
    value: ({ cents }) => cents,
    cell: ({ cents, currency }) => moneyText({ cents, currency }),
  },
  statusColumn(({ state }) => state, usageTones, { key: 'state', width: '120px' }),
  { key: 'reason', title: 'Reason', width: 'minmax(140px, 2fr)', value: ({ reason }) => reason },
]

const payoutTones = { listed: 'waiting', waiting: 'waiting', transferred: 'ok' } as const satisfies Record<Payout['state'], Tone>

const payoutColumns: readonly TableColumn<Payout>[] = [
  { key: 'developer', title: 'Developer', width: 'minmax(140px, 1fr)', value: ({ developerId }) => developerId },
  { key: 'month', title: 'Month', width: '90px', value: ({ month }) => month },
  ...(['gross', 'fee', 'net', 'held', 'deducted'] as const).map((part) => ({
    key: part,
    title: `${part.slice(0, 1).toUpperCase()}${part.slice(1)}`,
    width: '110px',
    align: 'right' as const,
    value: (payout: Payout) => payout[`${part}Cents`],
    cell: (payout: Payout) => moneyText({ cents: payout[`${part}Cents`], currency: payout.currency }),
  })),
  statusColumn(({ state }) => state, payoutTones, { key: 'state', width: '130px' }),
  { key: 'reason', title: 'Reason', width: 'minmax(140px, 2fr)', value: ({ reason }) => reason },
]

export function Page() {
  const usage = useQuery({ queryKey: ['billing', 'usage'], queryFn: () => api.billing.listUsage({ query: { limit: 200 } }) })
  const payouts = useQuery({ queryKey: ['billing', 'payouts'], queryFn: () => api.billing.listPayouts({ query: { limit: 200 } }) })
  const unbilled = usage.data?.usage.filter(({ state }) => state === 'unbilled').length
  return (
    <>
      <PageHeader
        title={words.title}
        answer={
          unbilled !== undefined &&
          (unbilled === 0 ? <Status tone="ok">{words.billed}</Status> : <Status tone="failed">{words.unbilled(unbilled)}</Status>)
        }
      />
      <ThisMonth />
      <Section title={words.usage}>
        <Loaded query={usage} rows={4}>
          {({ usage: rows }) => (
            <DataTable
              label={words.usage}
              columns={usageColumns}
              rows={rows}
              rowKey={({ id }) => id}
              empty={<Empty title={words.noUsage} tone="off" />}
              reserve={480}
            />
          )}
        </Loaded>
      </Section>
      <Section title={words.payouts}>
        <Loaded query={payouts} rows={4}>
          {({ payouts: rows }) => (
            <DataTable
              label={words.payouts}
              columns={payoutColumns}
              rows={rows}
              rowKey={({ id }) => id}
              empty={<Empty title={words.noPayouts} tone="off" />}
              reserve={480}
            />
          )}
        </Loaded>
      </Section>
      <Comparison />
    </>
  )
}

function ThisMonth() {
  const preview = useQuery({ queryKey: ['billing', 'preview'], queryFn: () => api.billing.previewBilling({ query: { limit: 100 } }) })
  return (
    <Section title={words.preview} aside={preview.data?.month}>
      <Loaded query={preview} rows={2}>
        {({ previews }) => <Previews previews={previews.filter(({ charges }) => charges.length > 0)} />}
      </Loaded>
    </Section>
  )
}

const Previews = ({ previews }: Readonly<{ previews: readonly Preview[] }>) =>
  previews.length === 0 ? (
    <p className="dim">{words.noPreview}</p>
  ) : (
    <ul className="lines">
      {previews.map(({ tenant, charges, totalCents, currency }) => (
        <li key={tenant}>
          <span>{tenant}</span>
          <span className="grow dim">{charges.map(({ name, quantity }) => `${name} × ${quantity}`).join(' · ')}</span>
          <span className="num">{moneyText({ cents: totalCents, currency })}</span>
        </li>
      ))}
    </ul>
  )

/** Every page of the comparison; it reads at the provider, so only when somebody asks. */
async function compareAll(): Promise<Readonly<{ differences: readonly Difference[]; checked: number }>> {
  const pages = await allPages((query) => api.billing.reconcileBilling({ query }))
  return { differences: pages.flatMap((page) => page.differences), checked: pages.reduce((sum, page) => sum + page.checked, 0) }
}

function Comparison() {
  const { why } = useMay('billing', 'reconcileBilling')
  const compare = useMutation({ mutationFn: compareAll })
  return (
    <Section
      title={words.differences}
      aside={
        <Button why={why} onPress={() => compare.mutate()} isDisabled={compare.isPending}>
          {compare.isPending ? words.comparing : words.compare}
        </Button>
      }
    >
      {compare.isError && <ProblemView error={compare.error} />}
      {compare.data && <Differences {...compare.data} />}
    </Section>
  )
}

const Differences = ({ differences, checked }: Readonly<{ differences: readonly Difference[]; checked: number }>) => (
  <>
    <Status tone={differences.length === 0 ? 'ok' : 'failed'}>
      {differences.length === 0 ? words.equal(checked) : words.found(differences.length)}
    </Status>
    <ul className="lines">
      {differences.map(({ kind, subject, id, here, there, fix }) => (
        <li key={`${kind} ${subject} ${id}`}>
          <Status tone="failed">{kind.replaceAll('_', ' ')}</Status>
          <span className="grow">
            {subject}: {words.here} {here}, {words.there} {there}
            <div className="dim">{fix}</div>
          </span>
        </li>
      ))}
    </ul>
  </>
)
