import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { OwnBilling } from '../../core/billing/index.ts'
import {
  ActionDialog,
  api,
  Button,
  Field,
  KeyValues,
  Loaded,
  Loading,
  PageHeader,
  Pages,
  Section,
  Status,
  TableHead,
  type Tone,
} from '../kit/index.ts'
import { useFormats } from './parts.tsx'
import { useWords } from './words.tsx'

type Invoice = Awaited<ReturnType<typeof api.billing.listOwnInvoices>>['invoices'][number]

export function Page() {
  const { bills: words } = useWords()
  const query = useQuery({ queryKey: ['billing', 'own'], queryFn: () => api.billing.showOwnBilling() })
  return (
    <>
      <PageHeader title={words.title} />
      <Loaded query={query}>
        {(billing) => (
          <>
            <Plan billing={billing} />
            <Next billing={billing} />
            <Subscriptions billing={billing} />
          </>
        )}
      </Loaded>
      <Invoices />
    </>
  )
}

const subscriptionTones: Readonly<Record<string, Tone>> = { active: 'ok', trialing: 'ok', past_due: 'warning', unpaid: 'failed' }

function Plan({ billing: { plan, billingEmail, hasProvider } }: Readonly<{ billing: OwnBilling }>) {
  const { bills: words } = useWords()
  const { day } = useFormats()
  const [isAsked, setAsked] = useState(false)
  const state = plan.subscription
  return (
    <>
      <KeyValues
        facts={[
          [words.plan, words.plans[plan.name] ?? plan.name],
          [
            words.state,
            state ? (
              <Status key="s" tone={subscriptionTones[state.status] ?? 'off'}>
                {words.states[state.status] ?? state.status}
              </Status>
            ) : (
              words.noPlan
            ),
          ],
          [words.periodEnd, state && day(state.currentPeriodEnd)],
          [words.email, billingEmail ?? words.noEmail],
        ]}
      />
      {hasProvider ? (
        <p className="after-table">
          <Button onPress={() => setAsked(true)}>{words.paymentButton}…</Button>
        </p>
      ) : (
        <p className="dim after-table">{words.noProvider}</p>
      )}
      {isAsked && <PaymentDialog billingEmail={billingEmail} onClose={() => setAsked(false)} />}
    </>
  )
}

/** Leads to the page of the payment provider. */
function PaymentDialog({ billingEmail, onClose }: Readonly<{ billingEmail: string | null; onClose(): void }>) {
  const { bills: words } = useWords()
  const [email, setEmail] = useState(billingEmail ?? '')
  const changed = email.trim() !== (billingEmail ?? '')
  return (
    <ActionDialog
      title={words.payment}
      consequence={<p>{words.paymentText}</p>}
      confirm={words.paymentButton}
      isComplete={email.trim() !== ''}
      run={async () => {
        const { url } = await api.billing.openPaymentPage({ body: changed ? { billingEmail: email.trim() } : {} })
        location.assign(url)
      }}
      onClose={onClose}
    >
      <Field label={words.paymentEmail} type="email" value={email} onChange={setEmail} validationBehavior="aria" />
    </ActionDialog>
  )
}

function Next({ billing: { next } }: Readonly<{ billing: OwnBilling }>) {
  const { bills: words } = useWords()
  const { money, month } = useFormats()
  const { charges, unbilled, totalCents, currency } = next
  return (
    <Section title={words.next(month(next.month))} aside={charges.length > 0 ? words.nextHint : undefined}>
      {charges.length + unbilled.length === 0 ? (
        <p>{words.nothing}</p>
      ) : (
        <table className="plain-table sums" aria-label={words.next(month(next.month))}>
          <tbody>
            {charges.map(({ kind, subject, name, quantity, cents, currency: own }) => (
              <tr key={`${kind} ${subject}`}>
                <td>
                  {name} <span className="dim">{words.kinds[kind](quantity)}</span>
                </td>
                <td className="num right">{money({ cents, currency: own })}</td>
              </tr>
            ))}
            <tr>
              <th scope="row">{words.total}</th>
              <td className="num right">
                <strong>{money({ cents: totalCents, currency })}</strong>
              </td>
            </tr>
            {unbilled.map((earlier) => (
              <tr key={earlier.month}>
                <td className="dim">{words.unbilled(month(earlier.month))}</td>
                <td className="num right">{money(earlier)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  )
}

const paymentTones: Readonly<Record<string, Tone>> = { ok: 'ok', past_due: 'warning', unpaid: 'failed' }

function Subscriptions({ billing: { subscriptions } }: Readonly<{ billing: OwnBilling }>) {
  const { bills: words } = useWords()
  const { money, day } = useFormats()
  return (
    <Section title={words.subscriptions}>
      {subscriptions.length === 0 ? (
        <p>{words.noSubscriptions}</p>
      ) : (
        <table className="plain-table stack" aria-label={words.subscriptions}>
          <TableHead titles={[words.item, words.price, words.until, words.state]} />
          <tbody>
            {subscriptions.map(({ id, name, priceModel, priceCents, currency, periodEnd, status, paymentStatus }) => (
              <tr key={id}>
                <td>{name}</td>
                <td>
                  {money({ cents: priceCents, currency })} {priceModel === 'per-active-user' ? words.perUser : words.perMonth}
                </td>
                <td data-label={words.until}>{periodEnd && day(periodEnd)}</td>
                <td>
                  {status === 'cancelled' ? (
                    <Status tone="off">{words.cancelled}</Status>
                  ) : (
                    <Status tone={paymentTones[paymentStatus] ?? 'off'}>{words.paymentStates[paymentStatus]}</Status>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  )
}

function Invoices() {
  const { bills: words } = useWords()
  const query = useInfiniteQuery({
    queryKey: ['billing', 'invoices'],
    queryFn: ({ pageParam }) => api.billing.listOwnInvoices({ query: { limit: 24, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  const invoices = query.data?.pages.flatMap((page) => page.invoices) ?? []
  return (
    <Section title={words.invoices}>
      <Pages query={query}>{query.isPending ? <Loading /> : !query.isError && <InvoiceTable invoices={invoices} />}</Pages>
    </Section>
  )
}

const invoiceTones: Readonly<Record<string, Tone>> = { open: 'waiting', paid: 'ok', uncollectible: 'failed' }

function InvoiceTable({ invoices }: Readonly<{ invoices: readonly Invoice[] }>) {
  const { bills: words } = useWords()
  const { money, day } = useFormats()
  if (invoices.length === 0) return <p>{words.noInvoices}</p>
  return (
    <table className="plain-table stack" aria-label={words.invoices}>
      <TableHead titles={[words.number, words.date, words.amount, words.state]}>
        <th scope="col">
          <span className="unseen">{words.pdf}</span>
        </th>
      </TableHead>
      <tbody>
        {invoices.map(({ id, number, createdAt, dueAt, status, totalCents, currency, pageUrl, pdfUrl }) => (
          <tr key={id}>
            <td>{number ?? id}</td>
            <td>{day(createdAt)}</td>
            <td>{money({ cents: totalCents, currency })}</td>
            <td>
              <Status tone={invoiceTones[status] ?? 'off'}>{words.invoiceStates[status] ?? status}</Status>
              {status === 'open' && dueAt && <span className="dim"> {words.dueAt(day(dueAt))}</span>}
            </td>
            <td className="links">
              {pageUrl && (
                <a href={pageUrl} target="_blank" rel="noreferrer" aria-label={`${words.openInvoice} ${number ?? id}`}>
                  {words.openInvoice}
                </a>
              )}
              {pdfUrl && (
                <a href={pdfUrl} target="_blank" rel="noreferrer" aria-label={`${words.pdf} ${number ?? id}`}>
                  {words.pdf}
                </a>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
