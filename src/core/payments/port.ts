import type { Money } from './money.ts'
import type {
  ListedInvoice,
  ProviderAccount,
  ProviderCharge,
  ProviderCustomer,
  ProviderDispute,
  ProviderEvent,
  ProviderInvoice,
  ProviderInvoiceItem,
  ProviderMeter,
  ProviderPrice,
  ProviderProduct,
  ProviderRefund,
  ProviderSubscription,
  ProviderTransfer,
} from './records.ts'

type Metadata = Readonly<Record<string, string>>

/** The provider executes a key once within 24 hours and repeats its answer, failures included; after that the key is unknown. */
type Keyed = Readonly<{ key: string }>

type NewSubscription = Keyed &
  Readonly<{
    customerId: string
    priceId: string
    /** A metered price takes no quantity. */
    metered: boolean
    /** Paid to this account, less the fee. Both or none. */
    payout: Readonly<{ destination: string; applicationFeePercent: number }> | null
    /** Day of the month and hour (UTC) of each invoice; null: the time of creation. */
    anchor: Readonly<{ dayOfMonth: number; hour: number }> | null
    description: string
    metadata: Metadata
  }>

type ChangedSubscription = Keyed &
  Readonly<{
    id: string
    /** Absent: unchanged. Null: the platform keeps the payment. */
    payout?: Readonly<{ destination: string; applicationFeePercent: number }> | null
    /** Absent: unchanged. False: resumes a subscription that would end with its period. */
    cancelAtPeriodEnd?: boolean
    metadata?: Metadata
  }>

/**
 * The payment provider. Calls fail with a PaymentFailure and nothing else; `get…` returns null for an object that does not exist. Lists are
 * complete (all pages), newest first.
 */
export type PaymentProvider = Readonly<{
  name: 'stripe' | 'none'

  // accounts of vendors
  createAccount(input: Keyed & Readonly<{ name: string; email: string; country: string; metadata: Metadata }>): Promise<ProviderAccount>
  getAccount(id: string): Promise<ProviderAccount | null>
  /** A hosted page for one use. The refresh address must make a new link. */
  createAccountLink(
    input: Readonly<{ accountId: string; returnUrl: string; refreshUrl: string }>,
  ): Promise<Readonly<{ url: string; expiresAt: string }>>

  // customers
  createCustomer(input: Keyed & Readonly<{ name: string; email: string; metadata: Metadata }>): Promise<ProviderCustomer>
  /** Null also for a deleted customer. */
  getCustomer(id: string): Promise<ProviderCustomer | null>
  updateCustomer(input: Keyed & Readonly<{ id: string; email?: string | null; metadata?: Metadata }>): Promise<ProviderCustomer>
  /** A hosted page where the customer stores a means of payment. Only `applySetup` makes it the default for invoices. */
  createSetupLink(input: Readonly<{ customerId: string; returnUrl: string }>): Promise<Readonly<{ url: string; expiresAt: string }>>

  /**
   * Makes the means of payment of a finished set-up page the default of its customer, unless a newer one is stored. Returns the customer; null for a
   * session that is no finished set-up page of this platform.
   */
  applySetup(sessionId: string): Promise<string | null>

  // products, meters, prices
  createProduct(input: Keyed & Readonly<{ name: string; metadata: Metadata }>): Promise<ProviderProduct>
  /** Adds up events by `eventName`; the newest event of a day replaces earlier ones of that day. Returns the meter of that name if there is one. */
  ensureMeter(input: Keyed & Readonly<{ eventName: string; displayName: string }>): Promise<ProviderMeter>
  /** The lookup key moves to the new price from the one that had it. Amounts never change. */
  createPrice(
    input: Keyed & Readonly<{ productId: string; unit: Money; meterId: string | null; lookupKey: string; metadata: Metadata }>,
  ): Promise<ProviderPrice>
  getPrice(id: string): Promise<ProviderPrice | null>
  findPrice(lookupKey: string): Promise<ProviderPrice | null>
  /** Live subscriptions keep the price. */
  deactivatePrice(input: Keyed & Readonly<{ id: string }>): Promise<void>

  // subscriptions
  createSubscription(input: NewSubscription): Promise<ProviderSubscription>
  getSubscription(id: string): Promise<ProviderSubscription | null>
  /** Includes every status, ended ones too. */
  listSubscriptions(customerId: string): Promise<readonly ProviderSubscription[]>
  updateSubscription(input: ChangedSubscription): Promise<ProviderSubscription>
  /** At once, without a final invoice: usage that is not invoiced is lost. Succeeds for an ended one. */
  cancelSubscription(input: Keyed & Readonly<{ id: string }>): Promise<ProviderSubscription>

  // usage, invoices, refunds
  /** Throws `invalid` for a time more than 35 days ago or 5 minutes ahead. `identifier` is unique for 24 hours. */
  reportUsage(input: Readonly<{ eventName: string; customerId: string; quantity: number; at: string; identifier: string }>): Promise<void>
  /**
   * A draft without items, which stays a draft until `finishInvoice`. Items of the customer that wait are not taken. `payout`: its payment goes to
   * this account, less the fee; absent: the platform keeps it.
   */
  createInvoice(
    input: Keyed &
      Readonly<{
        customerId: string
        currency: string
        description: string
        metadata: Metadata
        payout?: Readonly<{ destination: string; feeCents: number }> | undefined
      }>,
  ): Promise<ProviderInvoice>
  /** Finalises a draft and collects it. Succeeds for one that is final. */
  finishInvoice(input: Keyed & Readonly<{ invoiceId: string }>): Promise<ProviderInvoice>
  /** Collects an open invoice by the default means of payment. Changes nothing for one that is not open, or that the customer pays by itself. */
  payInvoice(input: Keyed & Readonly<{ invoiceId: string }>): Promise<ProviderInvoice>
  /** For a draft, or for the next invoice of a subscription. */
  createInvoiceItem(
    input: Keyed &
      Readonly<{
        customerId: string
        amount: Money
        description: string
        on: Readonly<{ invoiceId: string } | { subscriptionId: string }>
        metadata: Metadata
      }>,
  ): Promise<ProviderInvoiceItem>
  /** Only one that is on no invoice or on a draft: throws `invalid` otherwise. Succeeds for one that does not exist. */
  deleteInvoiceItem(id: string): Promise<void>
  listInvoiceItems(customerId: string): Promise<readonly ProviderInvoiceItem[]>
  getInvoice(id: string): Promise<ProviderInvoice | null>
  getCharge(id: string): Promise<ProviderCharge | null>
  getDispute(id: string): Promise<ProviderDispute | null>
  getRefund(id: string): Promise<ProviderRefund | null>
  listInvoices(filter: Readonly<{ customerId: string; subscriptionId?: string; status?: 'open' }>): Promise<readonly ListedInvoice[]>
  /** Pays back what was paid and not yet refunded; takes it back from the vendor with the fee. Returns the refunded cents: 0 for an unpaid invoice. */
  refundInvoice(input: Keyed & Readonly<{ invoiceId: string }>): Promise<Readonly<{ refundedCents: number }>>
  /** An open invoice that will not be paid any more. Succeeds for one that is void or paid. */
  voidInvoice(input: Keyed & Readonly<{ invoiceId: string }>): Promise<void>

  // transfers to vendors
  createTransfer(
    input: Keyed & Readonly<{ amount: Money; destination: string; description: string; metadata: Metadata }>,
  ): Promise<ProviderTransfer>
  listTransfers(destination: string): Promise<readonly ProviderTransfer[]>

  // webhooks
  /** Throws `invalid` for a signature by none of the secrets, or a time more than 300 seconds off. */
  verifyEvent(input: Readonly<{ body: Uint8Array; signature: string; now: Date }>): ProviderEvent
}>
