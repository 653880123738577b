import { createHmac } from 'node:crypto'
import { type Clock, isoNow, secret } from '../../../src/core/kit/index.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  type ProviderCustomer,
  type ProviderDispute,
  type ProviderInvoiceItem,
  type ProviderMeter,
  type ProviderPrice,
  type ProviderProduct,
  type ProviderRefund,
  type ProviderTransfer,
  paymentFailure,
  type WebhookEndpoint,
} from '../../../src/core/payments/index.ts'
import { eventVerifier } from '../../../src/daemon/payments/index.ts'
import { idempotentCalls } from './idempotent-calls.ts'
import { type Invoice, ledger, nextPeriodEnd, type Subscription } from './ledger.ts'

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }
type Usage = Readonly<{
  eventName: string
  customerId: string
  day: string
  at: string
  quantity: number
  identifier: string
  atMs: number
}>
export type DoubleEvent = Readonly<{ id: string; type: string; objectKind: string; objectId: string; createdAt: string }>

export const testWebhookSecrets = { platform: 'whsec_platform', connect: 'whsec_connect', thin: 'whsec_thin' } as const
const hourMs = 3_600_000
const daysUntilDue = 14
/** Of EUR. */
const leastChargeCents = 50

/** A draft has no page. */
const unpublished = { number: null, pageUrl: null, pdfUrl: null } as const
const published = (id: string) => ({
  number: id.toUpperCase(),
  pageUrl: `https://pay.example/${id}`,
  pdfUrl: `https://pay.example/${id}.pdf`,
})

/** A provider with state and money: charges, renews, finalises and pays as its clock moves. */
export function paymentDouble(
  clock: Clock,
  { collection = 'charge', automaticTax = false }: Readonly<{ collection?: 'charge' | 'invoice'; automaticTax?: boolean }> = {},
) {
  let count = 0
  const id = (prefix: string) => `${prefix}_${String(++count).padStart(4, '0')}`
  const accounts = new Map<string, Mutable<ProviderAccount>>()
  const customers = new Map<string, Mutable<ProviderCustomer>>()
  const products = new Map<string, ProviderProduct>()
  const meters = new Map<string, ProviderMeter>()
  const prices = new Map<string, Mutable<ProviderPrice>>()
  const subscriptions = new Map<string, Subscription>()
  const invoices = new Map<string, Invoice>()
  const invoiceItems = new Map<string, Mutable<ProviderInvoiceItem> & { subscriptionId: string | null }>()
  const disputes = new Map<string, ProviderDispute>()
  const refunds = new Map<string, ProviderRefund>()
  const transfers = new Map<string, ProviderTransfer>()
  const usage: Usage[] = []
  const events: DoubleEvent[] = []
  const credits = new Map<string, number>()
  const refusing = new Set<string>()
  /** Means of payment of a customer, the newest last. Setup stores one and makes none the default. */
  const methods = new Map<string, { stored: string[]; default: string | undefined }>()
  const sessions = new Map<string, { customerId: string; method: string | undefined; isOurs: boolean }>()
  const money = ledger()
  let settledTo = ''

  const at = () => settledTo || isoNow(clock)
  const emit = (type: string, objectKind: string, objectId: string) =>
    void events.push({ id: id('evt'), type, objectKind, objectId, createdAt: at() })
  const missing = (what: string): never => {
    throw paymentFailure('not_found', `No such ${what}`)
  }
  const methodsOf = (customer: string) => methods.get(customer) ?? missing(`customer: ${customer}`)
  const isRefused = (customer: string) => refusing.has(methods.get(customer)?.default ?? 'none')
  refusing.add('none')
  const subscriptionOf = (sub: string): Subscription => subscriptions.get(sub) ?? missing(`subscription: ${sub}`)
  const invoiceOf = (invoice: string): Invoice => invoices.get(invoice) ?? missing(`invoice: ${invoice}`)
  const priceOf = (price: string): Mutable<ProviderPrice> => prices.get(price) ?? missing(`price: ${price}`)
  const newestFirst = <Value>(values: Iterable<Value>): Value[] => [...values].reverse()

  // ---- usage and invoices

  function usedIn(sub: Subscription, from: string, to: string): number {
    const { meterId } = priceOf(sub.priceId)
    const eventName = meters.get(meterId ?? '')?.eventName
    const days = new Map<string, number>()
    for (const one of usage)
      if (one.eventName === eventName && one.customerId === sub.customerId && one.at >= from && one.at < to) days.set(one.day, one.quantity)
    return [...days.values()].reduce((sum, quantity) => sum + quantity, 0)
  }

  type Line = Mutable<Invoice['lines'][number]>

  function addLine(invoice: Invoice, line: Pick<Line, 'description' | 'cents' | 'periodStart' | 'periodEnd'> & Partial<Line>): void {
    invoice.lines = [...invoice.lines, { id: id('il'), invoiceItemId: null, metadata: {}, ...line }]
    invoice.total = { ...invoice.total, cents: invoice.total.cents + line.cents }
  }

  function draft(sub: Subscription, flatTo: string | null): Invoice {
    const price = priceOf(sub.priceId)
    const payout = sub.destination === null ? null : { destination: sub.destination, applicationFeePercent: sub.applicationFeePercent ?? 0 }
    const invoice: Invoice = {
      ...{
        id: id('in'),
        customerId: sub.customerId,
        subscriptionId: sub.id,
        status: 'draft',
        total: { cents: 0, currency: price.unit.currency },
      },
      ...{
        taxCents: 0,
        paidCents: 0,
        refundedCents: 0,
        isDisputed: false,
        isLost: false,
        createdAt: at(),
        finalizedAt: null,
        ...unpublished,
        dueAt: null,
        periodStart: sub.currentPeriodStart,
        periodEnd: sub.currentPeriodEnd,
      },
      ...{ lines: [], payout, vendorCents: 0, metadata: {} },
    }
    invoices.set(invoice.id, invoice)
    sub.latestInvoiceId = invoice.id
    if (price.meterId === null && flatTo !== null)
      addLine(invoice, { description: 'month', cents: price.unit.cents * (sub.quantity ?? 1), periodStart: at(), periodEnd: flatTo })
    for (const item of invoiceItems.values()) {
      const isDue = item.invoiceId === null && item.customerId === sub.customerId && [sub.id, null].includes(item.subscriptionId)
      if (!isDue) continue
      item.invoiceId = invoice.id
      const line = { description: item.description, cents: item.amount.cents, invoiceItemId: item.id, metadata: item.metadata }
      addLine(invoice, { ...line, periodStart: at(), periodEnd: at() })
    }
    emit('invoice.created', 'invoice', invoice.id)
    return invoice
  }

  /** Adds the metered usage of the invoice's period, then collects. */
  function finalize(invoice: Invoice): void {
    const sub = invoice.subscriptionId === null ? null : subscriptionOf(invoice.subscriptionId)
    const { meterId, unit } = sub ? priceOf(sub.priceId) : { meterId: null, unit: { cents: 0 } }
    if (sub && meterId !== null && invoice.createdAt >= invoice.periodEnd) {
      const quantity = usedIn(sub, invoice.periodStart, invoice.periodEnd)
      const { periodStart, periodEnd } = invoice
      if (quantity > 0) addLine(invoice, { description: `${quantity} × usage`, cents: quantity * unit.cents, periodStart, periodEnd })
    }
    const isTaxed = sub?.isTaxed ?? (automaticTax && invoice.payout === null)
    const tax = Math.round(invoice.total.cents * 0.19)
    // Tax is no line of an invoice.
    if (isTaxed && tax > 0) Object.assign(invoice, { taxCents: tax, total: { ...invoice.total, cents: invoice.total.cents + tax } })
    Object.assign(invoice, { finalizedAt: at() }, published(invoice.id))
    invoice.status = 'open'
    if (collection === 'invoice') invoice.dueAt = new Date(Date.parse(at()) + daysUntilDue * 24 * hourMs).toISOString()
    emit('invoice.finalized', 'invoice', invoice.id)
    const credit = credits.get(invoice.customerId) ?? 0
    const due = invoice.total.cents - credit
    if (due > 0 && due < leastChargeCents) {
      // Nothing is collected: the next invoice of the customer has the amount, whichever vendor it pays.
      credits.set(invoice.customerId, -due)
      invoice.status = 'paid'
      emit('invoice.paid', 'invoice', invoice.id)
      return
    }
    if (invoice.total.cents <= 0 || (collection === 'charge' && !isRefused(invoice.customerId) && canBeTransferred(invoice))) {
      pay(invoice)
      return
    }
    if (collection === 'invoice') return
    emit('invoice.payment_failed', 'invoice', invoice.id)
    fallBehind(sub)
  }

  /** A charge for an account that lost the capability is refused, however good the card is. */
  const canBeTransferred = ({ payout }: Invoice): boolean => payout === null || accounts.get(payout.destination)?.transfersEnabled === true

  function fallBehind(sub: Subscription | null): void {
    if (!sub || isEnded(sub)) return
    if (sub.status === 'active') sub.status = 'past_due'
    emit('customer.subscription.updated', 'subscription', sub.id)
  }

  const overdue = new Set<string>()
  /** An automation of the account sends the event on the day on which the invoice is due. */
  function passDueDate(invoice: Invoice): void {
    overdue.add(invoice.id)
    emit('invoice.overdue', 'invoice', invoice.id)
    fallBehind(subscriptions.get(invoice.subscriptionId ?? '') ?? null)
  }

  function pay(invoice: Invoice): void {
    const credit = credits.get(invoice.customerId) ?? 0
    credits.set(invoice.customerId, Math.max(0, credit - invoice.total.cents))
    money.pay(invoice, credit)
    emit('invoice.paid', 'invoice', invoice.id)
    const sub = subscriptions.get(invoice.subscriptionId ?? '')
    if (sub?.status !== 'past_due') return
    sub.status = 'active'
    emit('customer.subscription.updated', 'subscription', sub.id)
  }

  function end(sub: Subscription): void {
    sub.status = 'canceled'
    sub.canceledAt ??= at()
    sub.endedAt = at()
    emit('customer.subscription.deleted', 'subscription', sub.id)
  }

  function renew(sub: Subscription): void {
    if (sub.cancelAtPeriodEnd) {
      draft(sub, null)
      end(sub)
      return
    }
    const next = nextPeriodEnd(sub, sub.currentPeriodEnd)
    draft(sub, next)
    sub.currentPeriodStart = sub.currentPeriodEnd
    sub.currentPeriodEnd = next
    emit('customer.subscription.updated', 'subscription', sub.id)
  }

  function refund(invoice: Invoice, part?: number): number {
    const cents = money.refund(invoice, part)
    if (cents === 0) return 0
    const amount = { ...invoice.total, cents }
    const made: ProviderRefund = { id: id('re'), status: 'succeeded', amount, invoiceId: invoice.id, reason: null }
    refunds.set(made.id, made)
    emit('charge.refunded', 'charge', `ch_${invoice.id}`)
    return cents
  }

  const isEnded = ({ status }: Subscription) => status === 'canceled' || status === 'incomplete_expired'
  /** Its invoices stay drafts until somebody finalises them. */
  const isUnpaid = (sub: string) => subscriptions.get(sub)?.status === 'unpaid'
  const finalizesAt = ({ createdAt }: Invoice) => new Date(Date.parse(createdAt) + hourMs).toISOString()

  /** Everything that is due by now, in order of time. */
  function settle(): void {
    const now = isoNow(clock)
    for (;;) {
      const renewals = [...subscriptions.values()]
        .filter((sub) => !isEnded(sub))
        .map((sub) => ({ due: sub.currentPeriodEnd, run: () => renew(sub) }))
      const drafts = [...invoices.values()]
        .filter(({ status, subscriptionId }) => status === 'draft' && subscriptionId !== null && !isUnpaid(subscriptionId))
        .map((one) => ({ due: finalizesAt(one), run: () => finalize(one) }))
      const unpaid = [...invoices.values()]
        .filter(({ id, status, dueAt }) => status === 'open' && dueAt !== null && !overdue.has(id))
        .map((one) => ({ due: one.dueAt as string, run: () => passDueDate(one) }))
      const next = [...renewals, ...drafts, ...unpaid].filter(({ due }) => due <= now).sort((a, b) => (a.due < b.due ? -1 : 1))[0]
      if (!next) break
      settledTo = next.due
      next.run()
    }
    settledTo = ''
  }

  const { call, calls, fault, deliverLate } = idempotentCalls(clock, settle)
  const get = <Value>(operation: string, input: unknown, work: () => Value): Promise<Value> => call({ operation, input }, work)
  const keyed = <Input extends Readonly<{ key: string }>, Value>(operation: string, input: Input, work: () => Value): Promise<Value> =>
    call({ operation, key: input.key, input }, work)
  const link = (path: string) => ({
    url: `https://pay.example/${path}/${id('link')}`,
    expiresAt: new Date(clock.now().getTime() + hourMs).toISOString(),
  })

  // ---- the port

  const provider: PaymentProvider = {
    name: 'stripe',
    createAccount: (input) =>
      keyed('createAccount', input, () => {
        const account = {
          id: id('acct'),
          chargesEnabled: false,
          payoutsEnabled: false,
          transfersEnabled: false,
          pastDue: [],
          disabledReason: 'requirements.past_due',
        }
        accounts.set(account.id, account)
        return account
      }),
    getAccount: (account) => get('getAccount', account, () => accounts.get(account) ?? null),
    createAccountLink: (input) =>
      get('createAccountLink', input, () => (accounts.has(input.accountId) ? link('onboard') : missing(`account: ${input.accountId}`))),
    createCustomer: (input) =>
      keyed('createCustomer', input, () => {
        const { name, email, metadata } = input
        const customer = { id: id('cus'), name, email, metadata }
        customers.set(customer.id, customer)
        const card = id('pm')
        methods.set(customer.id, { stored: [card], default: card })
        return customer
      }),
    getCustomer: (customer) => get('getCustomer', customer, () => customers.get(customer) ?? null),
    updateCustomer: (input) =>
      keyed('updateCustomer', input, () => {
        const customer = customers.get(input.id) ?? missing(`customer: ${input.id}`)
        if (input.email !== undefined) customer.email = input.email
        if (input.metadata) customer.metadata = { ...customer.metadata, ...input.metadata }
        return customer
      }),
    createSetupLink: (input) =>
      get('createSetupLink', input, () => {
        if (!customers.has(input.customerId)) missing(`customer: ${input.customerId}`)
        sessions.set(id('cs'), { customerId: input.customerId, method: undefined, isOurs: true })
        return link('setup')
      }),
    applySetup: (session) =>
      get('applySetup', session, () => {
        const { customerId, method, isOurs } = sessions.get(session) ?? {}
        if (!isOurs || method === undefined || customerId === undefined) return null
        const of = methodsOf(customerId)
        if (of.stored.at(-1) === method) of.default = method
        return customerId
      }),
    createProduct: (input) =>
      keyed('createProduct', input, () => {
        const product = { id: id('prod'), name: input.name, active: true, metadata: input.metadata }
        products.set(product.id, product)
        return product
      }),
    ensureMeter: (input) =>
      keyed('ensureMeter', input, () => {
        const known = [...meters.values()].find(({ eventName }) => eventName === input.eventName)
        const meter = known ?? { id: id('mtr'), eventName: input.eventName, status: 'active' as const }
        meters.set(meter.id, meter)
        return meter
      }),
    createPrice: (input) =>
      keyed('createPrice', input, () => {
        const { productId, unit, meterId, lookupKey } = input
        if (!products.has(productId)) missing(`product: ${productId}`)
        for (const price of prices.values()) if (price.lookupKey === lookupKey) price.lookupKey = null
        const price = { id: id('price'), productId, unit, meterId, active: true, lookupKey }
        prices.set(price.id, price)
        return price
      }),
    getPrice: (price) => get('getPrice', price, () => prices.get(price) ?? null),
    findPrice: (key) => get('findPrice', key, () => [...prices.values()].find(({ lookupKey }) => lookupKey === key) ?? null),
    deactivatePrice: (input) =>
      keyed('deactivatePrice', input, () => {
        priceOf(input.id).active = false
      }),
    createSubscription: (input) =>
      keyed('createSubscription', input, () => {
        if (!customers.has(input.customerId)) missing(`customer: ${input.customerId}`)
        const price = priceOf(input.priceId)
        if (!price.active) throw paymentFailure('invalid', `The price ${price.id} is inactive`)
        if (input.metered !== (price.meterId !== null)) throw paymentFailure('invalid', 'A metered price takes no quantity')
        const account = input.payout && accounts.get(input.payout.destination)
        if (input.payout && !account?.transfersEnabled) throw paymentFailure('invalid', 'The destination account cannot receive transfers')
        const cards = methodsOf(input.customerId)
        if (collection === 'charge') cards.default ??= cards.stored.at(-1)
        if (collection === 'charge' && cards.default === undefined) throw paymentFailure('declined', 'The customer has no means of payment')
        if (price.meterId === null && collection === 'charge' && isRefused(input.customerId))
          throw paymentFailure('declined', 'The card was declined')
        const sub: Subscription = {
          ...{ id: id('sub'), customerId: input.customerId, status: 'active', itemId: id('si'), priceId: price.id },
          ...{
            currentPeriodStart: at(),
            currentPeriodEnd: at(),
            cancelAtPeriodEnd: false,
            createdAt: at(),
            canceledAt: null,
            endedAt: null,
          },
          ...{ destination: input.payout?.destination ?? null, applicationFeePercent: input.payout?.applicationFeePercent ?? null },
          ...{ isTaxed: automaticTax, latestInvoiceId: null, metadata: input.metadata, anchor: input.anchor },
        }
        sub.currentPeriodEnd = nextPeriodEnd(sub, at())
        subscriptions.set(sub.id, sub)
        emit('customer.subscription.created', 'subscription', sub.id)
        const first = draft(sub, sub.currentPeriodEnd)
        // An invoice that is sent stays a draft for an hour, the first one too.
        if (collection === 'charge') finalize(first)
        return recordOf(sub)
      }),
    getSubscription: (sub) =>
      get('getSubscription', sub, () => {
        const found = subscriptions.get(sub)
        return found ? recordOf(found) : null
      }),
    listSubscriptions: (customer) =>
      get('listSubscriptions', customer, () =>
        newestFirst(subscriptions.values())
          .filter(({ customerId }) => customerId === customer)
          .map(recordOf),
      ),
    updateSubscription: (input) =>
      keyed('updateSubscription', input, () => {
        const sub = subscriptionOf(input.id)
        if (isEnded(sub)) throw paymentFailure('invalid', `The subscription ${sub.id} is canceled`)
        if (input.payout && !accounts.get(input.payout.destination)?.transfersEnabled)
          throw paymentFailure('invalid', 'The destination account cannot receive transfers')
        if (input.payout !== undefined) {
          sub.destination = input.payout?.destination ?? null
          sub.applicationFeePercent = input.payout?.applicationFeePercent ?? null
        }
        if (input.metadata) sub.metadata = { ...sub.metadata, ...input.metadata }
        if (input.cancelAtPeriodEnd !== undefined) {
          sub.cancelAtPeriodEnd = input.cancelAtPeriodEnd
          sub.canceledAt = input.cancelAtPeriodEnd ? at() : null
        }
        emit('customer.subscription.updated', 'subscription', sub.id)
        return recordOf(sub)
      }),
    cancelSubscription: (input) =>
      keyed('cancelSubscription', input, () => {
        const sub = subscriptionOf(input.id)
        if (!isEnded(sub)) end(sub)
        return recordOf(sub)
      }),
    reportUsage: (input) =>
      get('reportUsage', input, () => {
        const [atMs, nowMs] = [Date.parse(input.at), clock.now().getTime()]
        if (atMs < nowMs - 35 * 24 * hourMs || atMs > nowMs + 5 * 60_000)
          throw paymentFailure('invalid', 'The time of the usage is out of range')
        if (!customers.has(input.customerId)) missing(`customer: ${input.customerId}`)
        if (usage.some((one) => one.identifier === input.identifier && one.atMs > nowMs - 24 * hourMs)) return
        usage.push({ ...input, at: new Date(atMs).toISOString(), day: new Date(atMs).toISOString().slice(0, 10), atMs: nowMs })
      }),
    createInvoice: (input) =>
      keyed('createInvoice', input, () => {
        if (!customers.has(input.customerId)) missing(`customer: ${input.customerId}`)
        const { customerId, currency, metadata, payout = null } = input
        if (payout && !accounts.get(payout.destination)?.transfersEnabled)
          throw paymentFailure('invalid', 'The destination account cannot receive transfers')
        const invoice: Invoice = {
          ...{ id: id('in'), customerId, subscriptionId: null, status: 'draft', total: { cents: 0, currency }, taxCents: 0, paidCents: 0 },
          ...{
            refundedCents: 0,
            isDisputed: false,
            isLost: false,
            createdAt: at(),
            finalizedAt: null,
            ...unpublished,
            dueAt: null,
            periodStart: at(),
            periodEnd: at(),
            lines: [],
            metadata,
          },
          ...{ payout, vendorCents: 0 },
        }
        invoices.set(invoice.id, invoice)
        return invoice
      }),
    finishInvoice: (input) =>
      keyed('finishInvoice', input, () => {
        const invoice = invoiceOf(input.invoiceId)
        if (invoice.status === 'draft') finalize(invoice)
        return invoice
      }),
    payInvoice: (input) =>
      keyed('payInvoice', input, () => {
        const invoice = invoiceOf(input.invoiceId)
        if (invoice.status !== 'open' || collection === 'invoice') return invoice
        if (isRefused(invoice.customerId)) {
          emit('invoice.payment_failed', 'invoice', invoice.id)
          throw paymentFailure('declined', 'The card was declined')
        }
        if (!canBeTransferred(invoice)) throw paymentFailure('invalid', 'The destination account cannot receive transfers')
        pay(invoice)
        return invoice
      }),
    createInvoiceItem: (input) =>
      keyed('createInvoiceItem', input, () => {
        if (!customers.has(input.customerId)) missing(`customer: ${input.customerId}`)
        const { customerId, amount, description, metadata, on } = input
        const placed = 'invoiceId' in on ? { invoiceId: on.invoiceId, subscriptionId: null } : { invoiceId: null, ...on }
        const item = { id: id('ii'), customerId, amount, description, metadata, ...placed }
        const sub = placed.subscriptionId === null ? null : subscriptionOf(placed.subscriptionId)
        if (sub && isEnded(sub)) throw paymentFailure('invalid', `The subscription ${sub.id} is canceled`)
        const invoice = placed.invoiceId === null ? null : invoiceOf(placed.invoiceId)
        if (invoice && invoice.status !== 'draft') throw paymentFailure('invalid', `The invoice ${invoice.id} is ${invoice.status}`)
        invoiceItems.set(item.id, item)
        if (invoice)
          addLine(invoice, { description, cents: amount.cents, invoiceItemId: item.id, metadata, periodStart: at(), periodEnd: at() })
        return item
      }),
    deleteInvoiceItem: (item) =>
      get('deleteInvoiceItem', item, () => {
        const found = invoiceItems.get(item)
        const { status } = found?.invoiceId ? invoiceOf(found.invoiceId) : { status: 'draft' }
        if (status !== 'draft') throw paymentFailure('invalid', `The invoice item ${item} is on a final invoice`)
        invoiceItems.delete(item)
      }),
    listInvoiceItems: (customer) =>
      get('listInvoiceItems', customer, () => newestFirst(invoiceItems.values()).filter(({ customerId }) => customerId === customer)),
    getCharge: (charge) =>
      get('getCharge', charge, () => (invoices.has(charge.slice(3)) ? { id: charge, invoiceId: charge.slice(3) } : null)),
    getDispute: (dispute) => get('getDispute', dispute, () => disputes.get(dispute) ?? null),
    getRefund: (made) => get('getRefund', made, () => refunds.get(made) ?? null),
    getInvoice: (invoice) => get('getInvoice', invoice, () => invoices.get(invoice) ?? null),
    listInvoices: (filter) =>
      get('listInvoices', filter, () =>
        newestFirst(invoices.values())
          .filter((one) =>
            (['customerId', 'subscriptionId', 'status'] as const).every((key) => filter[key] === undefined || one[key] === filter[key]),
          )
          .map(({ refundedCents: _, isDisputed: __, isLost: ___, ...listed }) => listed),
      ),
    refundInvoice: (input) => keyed('refundInvoice', input, () => ({ refundedCents: refund(invoiceOf(input.invoiceId)) })),
    voidInvoice: (input) =>
      keyed('voidInvoice', input, () => {
        const invoice = invoiceOf(input.invoiceId)
        if (invoice.status === 'draft' && invoice.subscriptionId === null) {
          invoices.delete(invoice.id)
          return
        }
        // A draft of a subscription cannot be deleted: it is finalised without collection, which pays one without an amount, and voided.
        if (invoice.status === 'draft') {
          Object.assign(invoice, { finalizedAt: at() }, published(invoice.id))
          invoice.status = 'open'
          if (invoice.total.cents <= 0) pay(invoice)
        }
        if (invoice.status !== 'open') return
        invoice.status = 'void'
        emit('invoice.voided', 'invoice', invoice.id)
      }),
    createTransfer: (input) =>
      keyed('createTransfer', input, () => {
        const { amount, destination, metadata } = input
        if (!accounts.get(destination)?.transfersEnabled)
          throw paymentFailure('invalid', 'The destination account cannot receive transfers')
        const transfer = { id: id('tr'), amount, destination, metadata }
        transfers.set(transfer.id, transfer)
        money.transfer(destination, amount)
        return transfer
      }),
    listTransfers: (destination) =>
      get('listTransfers', destination, () => newestFirst(transfers.values()).filter((one) => one.destination === destination)),
    verifyEvent: eventVerifier(
      (Object.keys(testWebhookSecrets) as WebhookEndpoint[]).map((endpoint) => ({
        endpoint,
        secret: secret(testWebhookSecrets[endpoint]),
      })),
    ),
  }

  return {
    provider,
    calls,
    fault,
    deliverLate,
    /** Events of the provider, oldest first. */
    events: () => {
      settle()
      return events
    },
    /** What the customer paid and was not refunded, what the account received, what the platform kept. */
    paidBy: (customerId: string) => {
      settle()
      return 0 - money.balance(customerId)
    },
    receivedBy: (account: string) => {
      settle()
      return money.balance(account)
    },
    keptByPlatform: () => {
      settle()
      return money.balance('platform')
    },
    liveSubscriptions: (customerId: string) => {
      settle()
      return [...subscriptions.values()].filter((sub) => sub.customerId === customerId && !isEnded(sub)).map(recordOf)
    },
    setAccount: (account: string, patch: Partial<ProviderAccount>) => {
      Object.assign(accounts.get(account) ?? missing('account'), patch)
      emit('account.updated', 'account', account)
    },
    /** Somebody deletes it in the Dashboard. */
    deleteAccount: (account: string) => void accounts.delete(account),
    /** The bank refuses the means of payment that are stored now. */
    refuseCard: (customerId: string, refused = true) => {
      for (const card of methodsOf(customerId).stored) refused ? refusing.add(card) : refusing.delete(card)
    },
    /** A credit balance, which settles invoices before the card does. */
    giveCredit: (customerId: string, cents: number) => void credits.set(customerId, cents),
    removeCards: (customerId: string) => void methods.set(customerId, { stored: [], default: undefined }),
    /** The customer stores a means of payment on the page of the newest link, or of a session that the platform did not make. */
    completeSetup: (customerId: string, isOurs = true) => {
      if (!isOurs) sessions.set(id('cs'), { customerId, method: undefined, isOurs })
      const [session, of] = [...sessions].findLast(([, one]) => one.customerId === customerId) ?? missing('session')
      of.method = id('pm')
      methodsOf(customerId).stored.push(of.method)
      emit('checkout.session.completed', 'checkout.session', session)
    },
    /** An operator cancels a subscription in the Dashboard and has its usage invoiced at once. */
    cancelWithInvoice: (
      sub: string,
      { periodStart, periodEnd, isPaid = true }: Readonly<{ periodStart: string; periodEnd: string; isPaid?: boolean }>,
    ) => {
      settle()
      const found = subscriptionOf(sub)
      const invoice = draft(found, null)
      const quantity = usedIn(found, found.currentPeriodStart, at())
      Object.assign(invoice, { periodStart, periodEnd })
      const cents = quantity * priceOf(found.priceId).unit.cents
      addLine(invoice, { description: `${quantity} × usage`, cents, periodStart: found.currentPeriodStart, periodEnd: at() })
      end(found)
      Object.assign(invoice, { finalizedAt: at() }, published(invoice.id))
      invoice.status = 'open'
      if (isPaid) pay(invoice)
      return invoice.id
    },
    /** An operator deletes a draft in the Dashboard: its items wait for the next invoice of the customer. */
    deleteDraft: (invoice: string) => {
      invoices.delete(invoice)
      for (const item of invoiceItems.values()) if (item.invoiceId === invoice) item.invoiceId = null
    },
    deleteCustomer: (customerId: string) => void customers.delete(customerId),
    /** An operator refunds a payment in the Dashboard, in full or in part. */
    refundInvoice: (invoice: string, cents?: number) => void refund(invoiceOf(invoice), cents),
    /** The bank of the customer refuses the newest refund, days after it was made. */
    failRefund: () => {
      const [made] = newestFirst(refunds.values())
      if (!made) return missing('refund')
      refunds.set(made.id, { ...made, status: 'failed', reason: 'expired_or_canceled_card' })
      money.returnRefund(invoiceOf(made.invoiceId ?? ''), made.amount.cents)
      emit('refund.failed', 'refund', made.id)
      return made.id
    },
    /** The bank of the customer takes the payment of an invoice back; a call with `of` changes the dispute. */
    dispute: (invoice: string, status: ProviderDispute['status'] = 'open', of = id('dp')) => {
      const { customerId, total } = invoiceOf(invoice)
      const isNew = !disputes.has(of)
      disputes.set(of, { id: of, status, reason: 'fraudulent', amount: total, customerId, invoiceId: invoice, dueBy: null })
      const own = [...disputes.values()].filter(({ invoiceId }) => invoiceId === invoice)
      invoiceOf(invoice).isDisputed = own.some((one) => one.status !== 'won')
      invoiceOf(invoice).isLost = own.some((one) => one.status === 'lost')
      emit(`charge.dispute.${isNew ? 'created' : status === 'open' ? 'updated' : 'closed'}`, 'dispute', of)
      return of
    },
    payInvoice: (invoice: string) => pay(invoiceOf(invoice)),
    subscriptions,
    invoices,
    prices,
    meters,
    refunds,
    transfers,
    usage,
  }
}

const recordOf = ({ anchor: _, ...sub }: Subscription) => ({ ...sub })

export const readyAccount = { chargesEnabled: true, payoutsEnabled: true, transfersEnabled: true, pastDue: [], disabledReason: null }

/** An event as the provider sends it: raw body and signature header. */
export function signedEvent(event: DoubleEvent, { now, endpoint = 'platform' }: Readonly<{ now: Date; endpoint?: WebhookEndpoint }>) {
  const seconds = Math.floor(now.getTime() / 1000)
  const { id, type, objectKind, objectId, createdAt } = event
  const snapshot = { id, object: 'event', type, created: Math.floor(Date.parse(createdAt) / 1000), livemode: false }
  const body = Buffer.from(
    JSON.stringify(
      endpoint === 'thin'
        ? { id, object: 'v2.core.event', type, created: createdAt, related_object: { id: objectId, type: objectKind } }
        : { ...snapshot, data: { object: { id: objectId, object: objectKind } } },
    ),
  )
  const digest = createHmac('sha256', testWebhookSecrets[endpoint]).update(`${seconds}.`).update(body).digest('hex')
  return { body, signature: `t=${seconds},v1=${digest}` }
}
