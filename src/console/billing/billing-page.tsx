import { useMutation, useQuery } from '@tanstack/react-query'
import { type Difference, type Payout, type Preview, type UsageRow, type UsageState, usageStates } from '../../core/billing/index.ts'
import { moneyText } from '../../core/payments/index.ts'
import {
  allPages,
  api,
  Button,
  ChoiceFilter,
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
  useSearchState,
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
  waived: 'waiting',
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
  const [{ state: stateText }] = useSearchState()
  const state = usageStates.find((one) => one === stateText)
  const usage = useQuery({
    queryKey: ['billing', 'usage', state],
    queryFn: () => api.billing.listUsage({ query: { limit: pageSize, ...(state && { state }) } }),
  })
  const payouts = useQuery({ queryKey: ['billing', 'payouts'], queryFn: () => api.billing.listPayouts({ query: { limit: pageSize } }) })
  return (
    <>
      <PageHeader title={words.title} answer={usage.data && <Answer {...usage.data.open} hasProvider={usage.data.hasProvider} />} />
      <ThisMonth />
      <Section title={words.usage}>
        <ChoiceFilter label={words.state} name="state" choices={usageStates.map((value) => ({ value, label: value }))} />
        <Loaded query={usage} rows={4}>
          {({ usage: rows, nextCursor }) => (
            <>
              <DataTable
                label={words.usage}
                columns={usageColumns}
                rows={rows}
                rowKey={({ id }) => id}
                empty={<Empty title={state ? words.noUsageInState : words.noUsage} tone="off" />}
                reserve={480}
              />
              {nextCursor !== null && <p className="dim">{words.newest(rows.length, usageCommand(state))}</p>}
            </>
          )}
        </Loaded>
      </Section>
      <Section title={words.payouts}>
        <Loaded query={payouts} rows={4}>
          {({ payouts: rows, nextCursor }) => (
            <>
              <DataTable
                label={words.payouts}
                columns={payoutColumns}
                rows={rows}
                rowKey={({ id }) => id}
                empty={<Empty title={words.noPayouts} tone="off" />}
                reserve={480}
              />
              {nextCursor !== null && <p className="dim">{words.newest(rows.length, 'tenantry billing payouts')}</p>}
            </>
          )}
        </Loaded>
      </Section>
      <Comparison />
    </>
  )
}

const pageSize = 200
const previewedTenants = 100

const usageCommand = (state: UsageState | undefined): string => `tenantry billing usage${state ? ` --state ${state}` : ''}`

/** Counts all tenants and months, whatever the list shows. */
function Answer({ unbilled, planned, hasProvider }: Readonly<{ unbilled: number; planned: number; hasProvider: boolean }>) {
  if (unbilled > 0) return <Status tone="failed">{words.unbilled(unbilled)}</Status>
  if (!hasProvider) return <Status tone="off">{words.notSetUp}</Status>
  return planned > 0 ? <Status tone="waiting">{words.planned(planned)}</Status> : <Status tone="ok">{words.billed}</Status>
}

function ThisMonth() {
  const preview = useQuery({
    queryKey: ['billing', 'preview'],
    queryFn: () => api.billing.previewBilling({ query: { limit: previewedTenants } }),
  })
  return (
    <Section title={words.preview} aside={preview.data?.month}>
      <Loaded query={preview} rows={2}>
        {({ previews, nextCursor }) => (
          <>
            <Previews previews={previews.filter(({ charges }) => charges.length > 0)} />
            {nextCursor !== null && <p className="dim">{words.firstTenants(previews.length, 'tenantry billing preview')}</p>}
          </>
        )}
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
