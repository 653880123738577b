import type { Money } from './money.ts'

// Records of the provider, reduced to the fields that Tenantry reads. Timestamps are ISO 8601 UTC.

type Metadata = Readonly<Record<string, string>>

/** The connected account of a vendor. */
export type ProviderAccount = Readonly<{
  id: string
  chargesEnabled: boolean
  payoutsEnabled: boolean
  /** The capability `transfers` is active. */
  transfersEnabled: boolean
  /** Requirements that are past due, by name. */
  pastDue: readonly string[]
  disabledReason: string | null
}>

export type ProviderCustomer = Readonly<{ id: string; email: string | null; name: string | null; metadata: Metadata }>

export type ProviderProduct = Readonly<{ id: string; name: string; active: boolean; metadata: Metadata }>

/** A meter adds up events by name and customer; the newest event of a day replaces earlier ones of that day. */
export type ProviderMeter = Readonly<{ id: string; eventName: string; status: 'active' | 'inactive' }>

/** `meterId` is set on metered prices alone. `unit` is the price per month, or per unit of usage. */
export type ProviderPrice = Readonly<{
  id: string
  productId: string
  unit: Money
  meterId: string | null
  active: boolean
  lookupKey: string | null
}>

type SubscriptionStatus = 'incomplete' | 'incomplete_expired' | 'trialing' | 'active' | 'past_due' | 'unpaid' | 'paused' | 'canceled'

export type ProviderSubscription = Readonly<{
  id: string
  customerId: string
  status: SubscriptionStatus
  /** The one item of the subscription. */
  itemId: string
  priceId: string
  currentPeriodStart: string
  currentPeriodEnd: string
  cancelAtPeriodEnd: boolean
  createdAt: string
  canceledAt: string | null
  endedAt: string | null
  /** The account that is paid, and the share of the platform. */
  destination: string | null
  applicationFeePercent: number | null
  /** The provider adds tax to its invoices. The share of a vendor would be of the total with tax. */
  isTaxed: boolean
  latestInvoiceId: string | null
  metadata: Metadata
}>

export type ProviderInvoice = Readonly<{
  id: string
  /** On the invoice; null for a draft. */
  number: string | null
  customerId: string
  subscriptionId: string | null
  status: 'draft' | 'open' | 'paid' | 'uncollectible' | 'void'
  /** With tax. */
  total: Money
  /** Tax added to the prices; tax that they include is not in it. */
  taxCents: number
  paidCents: number
  refundedCents: number
  /** The bank of the customer takes or took the payment back. False again once every dispute of it is won. */
  isDisputed: boolean
  /** The bank took back for good what was not refunded of the payment. */
  isLost: boolean
  createdAt: string
  /** The time from which the invoice cannot change. */
  finalizedAt: string | null
  /** When the customer must have paid it by itself; null: the provider collects it. */
  dueAt: string | null
  periodStart: string
  periodEnd: string
  /** The hosted page of a final invoice, and its PDF. */
  pageUrl: string | null
  pdfUrl: string | null
  metadata: Metadata
  lines: readonly Readonly<{
    id: string
    description: string | null
    cents: number
    invoiceItemId: string | null
    periodStart: string
    periodEnd: string
    metadata: Metadata
  }>[]
}>

/** An invoice in a list. Refunds and disputes are fields of its payments, which each take a call of the provider. */
export type ListedInvoice = Omit<ProviderInvoice, 'refundedCents' | 'isDisputed' | 'isLost'>

/** The bank of a customer takes a payment back. `warning` states of the provider count like those of a dispute. */
export type ProviderDispute = Readonly<{
  id: string
  status: 'open' | 'won' | 'lost'
  reason: string
  amount: Money
  customerId: string | null
  invoiceId: string | null
  /** Until when evidence can be sent. */
  dueBy: string | null
}>

/** `failed`: the platform has the money again; the share of the vendor and the fee stay taken back. */
export type ProviderRefund = Readonly<{
  id: string
  status: 'pending' | 'succeeded' | 'failed'
  amount: Money
  invoiceId: string | null
  /** Why it failed, as the provider names it. */
  reason: string | null
}>

/** A payment of an invoice. */
export type ProviderCharge = Readonly<{ id: string; invoiceId: string | null }>

/** An amount for the customer's next invoice. `invoiceId` is null until one takes it. */
export type ProviderInvoiceItem = Readonly<{
  id: string
  customerId: string
  amount: Money
  description: string | null
  invoiceId: string | null
  metadata: Metadata
}>

export type ProviderTransfer = Readonly<{ id: string; amount: Money; destination: string; metadata: Metadata }>

/** The endpoint whose secret signed an event: of the platform's account, of connected accounts, or of thin events. */
export type WebhookEndpoint = 'platform' | 'connect' | 'thin'

/** A verified event. Only ids: the work fetches the object. */
export type ProviderEvent = Readonly<{
  id: string
  type: string
  endpoint: WebhookEndpoint
  /** The object's kind as the provider names it: `subscription`, `invoice`, `account`, `billing.meter`. */
  objectKind: string | null
  objectId: string | null
  createdAt: string
  livemode: boolean
}>

/** An invoice is due after this many days. */
export const daysUntilDue = 14

/** Whether a subscription still charges or may charge again. */
export const isLive = ({ status }: Pick<ProviderSubscription, 'status'>): boolean =>
  status !== 'canceled' && status !== 'incomplete_expired'
