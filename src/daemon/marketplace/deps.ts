import type { Clock, PlatformPrincipal, Random } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import type { Mailer } from '../mail/index.ts'
import type { ModulesDeps } from '../modules/index.ts'
import type { ObjectStore } from '../objects/index.ts'
import type { Keyring } from '../sealed/index.ts'
import type { ItemRecord } from './items.repo.ts'
import type { SubscriptionRecord } from './subscriptions.repo.ts'

/** The price of the module of an app that the user accepted beside that of the app; null for nothing. */
export type AcceptedModule = Readonly<{ modulePriceCents: number | null }>

/**
 * The work that the marketplace asks of the payments feature. The functions with a `tx` only enqueue work in the transaction of the change; they never
 * call the provider.
 */
export type MarketplacePayments = Readonly<{
  /** ISO 4217, lower case. */
  currency: string
  /** A vendor was created: it needs an account at the provider. */
  vendorCreated(tx: Tx, vendor: Readonly<{ vendorId: string }>): Promise<void>
  /** A paid item was created, or its price changed. `former`: the price that it had at the provider. */
  priceChanged(tx: Tx, item: Readonly<{ itemId: string; former: string | null }>): Promise<void>
  /** The vendor of an item, or the fee of a vendor changed: live subscriptions follow. */
  termsChanged(tx: Tx, changed: Readonly<{ itemId: string } | { vendorId: string }>): Promise<void>
  /** Throws why the tenant cannot buy the item now: PAYMENTS_UNAVAILABLE, VENDOR_INACTIVE, NO_PAYMENT_CUSTOMER, PAYMENT_FAILED. Reads only. */
  assertBuyable(tenant: Readonly<{ tenantId: string }>, item: ItemRecord): Promise<void>
  /**
   * Checks, charges, and installs a paid item with `planBundle` and `storeInstallation`. The item is published and not installed. The module of an
   * app is activated afterwards by the caller.
   */
  installPaid(actor: PlatformPrincipal, item: ItemRecord, accepted: AcceptedModule): Promise<SubscriptionRecord>
  /** An item was withdrawn, or is published again: live subscriptions end with their period, or continue. */
  endsChanged(tx: Tx, changed: Readonly<{ itemId: string }>): Promise<void>
  /** A paid subscription was cancelled by its tenant: payment ends with the period. Returns until when it is paid, if that is known. */
  cancelled(tx: Tx, subscription: SubscriptionRecord): Promise<string | null>
}>

/** Dependencies of the feature. Each function takes the part it uses. */
export type MarketplaceDeps = Pick<ModulesDeps, 'changed' | 'prepare'> &
  Readonly<{
    db: Db
    clock: Clock
    random: Random
    log: Logger
    keyring: Keyring
    mailer: Mailer
    /** Address of the platform in mails. */
    baseUrl: string
    /** Roles that a flow may name. */
    roles: RoleBook
    /** Ids of the rooms of a tenant's spaces. */
    roomsOf: (db: DbOrTx, tenant: Readonly<{ tenantId: string }>) => Promise<readonly string[]>
    /** The folder with the seed files. */
    seedsDir: string
    payments: MarketplacePayments
    /** Where screenshots are stored. */
    objects: ObjectStore
  }>
