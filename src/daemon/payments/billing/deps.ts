import type { Clock, Random } from '../../../core/kit/index.ts'
import type { PaymentProvider } from '../../../core/payments/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { Db, DbOrTx } from '../../db/index.ts'
import type { Mailer } from '../../mail/index.ts'
import type { ActiveUsers } from './active-users.ts'

/** The price of a module in a version: null for a free one, undefined if the version is unknown. */
type PricedModule = Readonly<{ name: string; developerId: string; price: Readonly<{ cents: number; currency: string }> | null }>

/** Dependencies of the feature. Each function takes the part it uses. */
export type BillingDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  provider: PaymentProvider
  mailer: Mailer
  /** ISO 4217, lower case. */
  currency: string
  /** The provider adds taxes to what it charges. */
  automaticTax: boolean
  baseUrl: string
  /** False: statements of developers are listed and nothing is transferred. */
  transferPayouts: boolean
  activeUsers: ActiveUsers
  /** A module of the store in a version. */
  pricedModule(db: DbOrTx, module: Readonly<{ moduleId: string; version: string }>): Promise<PricedModule | undefined>
}>
