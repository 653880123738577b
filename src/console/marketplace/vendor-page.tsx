import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { VendorPayouts } from '../../core/billing/index.ts'
import type { VendorItem } from '../../core/marketplace/index.ts'
import { moneyText } from '../../core/payments/index.ts'
import { api, KeyValues, Link, Loaded, PageHeader, Section, Status } from '../kit/index.ts'
import { itemTones, priceWords, submissionTones } from './queries.ts'
import { words } from './words.ts'

const readVendor = async (id: string) => {
  const params = { id }
  const [vendor, { sales }, { payouts }] = await Promise.all([
    api.marketplace.showVendor({ params }),
    api.vendor.showVendorSales({ params }),
    api.vendor.showVendorPayouts({ params }),
  ])
  return { ...vendor, sales, payouts }
}

type Shown = Awaited<ReturnType<typeof readVendor>>

const Nothing = () => <p className="dim">{words.nothingYet}</p>

const Items = ({ items }: Pick<Shown, 'items'>) => (
  <Section title={words.items}>
    {items.length === 0 && <Nothing />}
    <ul className="lines">
      {items.map((item) => (
        <li key={item.id}>
          <ItemStatus item={item} /> {item.name} {item.version}{' '}
          <span className="dim">
            {priceWords(item)}, {words.installed(item.installations)}
          </span>
        </li>
      ))}
    </ul>
  </Section>
)

const ItemStatus = ({ item: { status, withdrawnAt } }: Readonly<{ item: VendorItem }>) => (
  <Status tone={itemTones[status]}>{withdrawnAt === null ? status : words.withdrawn}</Status>
)

const Submissions = ({ submissions }: Pick<Shown, 'submissions'>) => (
  <Section title={words.submissions}>
    {submissions.length === 0 && <Nothing />}
    <ul className="lines">
      {submissions.map(({ id, name, version, status, confirmed }) => (
        <li key={id}>
          <Status tone={submissionTones[status]}>{status.replaceAll('-', ' ')}</Status>{' '}
          <Link to={`/marketplace/submissions/${id}`}>
            {name} {version}
          </Link>{' '}
          <span className="dim">{confirmed ? words.proven : words.unproven}</span>
        </li>
      ))}
    </ul>
  </Section>
)

const Sales = ({ sales }: Pick<Shown, 'sales'>) => (
  <Section title={words.sales}>
    {sales.length === 0 ? (
      <Nothing />
    ) : (
      <>
        <p className="prose dim">{words.salesHint}</p>
        <ul className="lines">
          {sales.map(({ month, itemId, name, quantity, cents, currency }) => (
            <li key={`${month} ${itemId} ${quantity} ${cents}`}>
              {month} {name}: {moneyText({ cents, currency })} <span className="dim">{words.sold(quantity)}</span>
            </li>
          ))}
        </ul>
      </>
    )}
  </Section>
)

const Payouts = ({ payouts }: VendorPayouts) => (
  <Section title={words.payouts}>
    {payouts.length === 0 && <Nothing />}
    <ul className="lines">
      {payouts.map(({ id, month, netCents: cents, currency, state }) => (
        <li key={id}>
          {month}: {moneyText({ cents, currency })} <span className="dim">{state}</span>
        </li>
      ))}
    </ul>
  </Section>
)

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string }
  const vendor = useQuery({ queryKey: ['marketplace', 'vendor', id], queryFn: () => readVendor(id) })
  return (
    <>
      <PageHeader title={vendor.data?.name ?? id} answer={vendor.data && words.fee(vendor.data.applicationFeePercent)} />
      <Loaded query={vendor}>
        {(one) => (
          <>
            <KeyValues
              facts={[
                ['Contact', one.contactEmail],
                ['Country', one.country],
                ['Payment account', one.paymentAccountStatus],
                ['Id', one.id],
              ]}
            />
            <Items items={one.items} />
            <Submissions submissions={one.submissions} />
            <Sales sales={one.sales} />
            <Payouts payouts={one.payouts} />
          </>
        )}
      </Loaded>
    </>
  )
}
