import type { Actor, Clock, Random } from '../../core/kit/index.ts'
import type { PaymentProvider } from '../../core/payments/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db, Tx } from '../db/index.ts'
import type { ItemRecord, SubscriptionRecord } from '../marketplace/index.ts'

/** The actor in a tenant: a user, or a job that continues the work of one. */
export type Installer = Actor & Readonly<{ tenantId: string; tenantSlug: string }>

/** The columns of a subscription that a payment fills. */
export type InstalledPayment = Pick<
  SubscriptionRecord,
  | ('priceModel' | 'priceCents' | 'currency')
  | ('paymentPriceId' | 'paymentSubscriptionId' | 'paymentSubscriptionItemId' | 'paymentStatus' | 'paidUntil')
>

/** The acts of an installation. `modulePriceCents`: what the module of an app costs beside it, null for nothing. */
export type Planned = Readonly<{ modulePriceCents: number | null }>

/** How the marketplace installs what was paid. */
type Bundles = Readonly<{
  /** A dry run: throws why the item cannot be installed in the tenant, and changes nothing. */
  plan(tenant: Readonly<{ tenantId: string }>, item: ItemRecord): Promise<Planned>
  /** Installs by a plan and stores the subscription. */
  store(
    tx: Tx,
    input: Readonly<{ actor: Installer; item: ItemRecord; plan: Planned; payment: InstalledPayment }>,
  ): Promise<SubscriptionRecord>
  /** Activates the module of an app after the commit; one that is active stays. Returns why it could not, or null. */
  activate(actor: Installer, subscription: SubscriptionRecord): Promise<Readonly<{ code: string; message: string }> | null>
  /** Ends an installation whose payment ended, with the effects of an uninstall. `subscription` is locked. */
  end(tx: Tx, input: Readonly<{ actor: Installer; subscription: SubscriptionRecord }>): Promise<void>
}>

/** Dependencies of the feature. Each function takes the part it uses. */
export type PaymentsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  provider: PaymentProvider
  currency: string
  /** The provider adds taxes to invoices of items that no vendor is paid for. */
  automaticTax: boolean
  baseUrl: string
  bundles: Bundles
}>
