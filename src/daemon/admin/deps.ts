import type { Clock, Random } from '../../core/kit/index.ts'
import type { Revocations, SigningKeys } from '../auth/index.ts'
import type { Db } from '../db/index.ts'
import type { Keyring } from '../sealed/index.ts'
import type { ConsoleAccess } from './console-access.ts'
import type { CompanyLogin } from './login-provider.ts'

export type AdminDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  keyring: Keyring
  /** Keys of the audience `admin`. */
  keys: SigningKeys
  revocations: Revocations
  /** Operators and admins must use TOTP. */
  totpRequired: boolean
  console: ConsoleAccess
  /** The daemon's address, without a slash at the end. */
  baseUrl: string
  /** Absent: no account logs in at a provider. */
  company?: CompanyLogin | undefined
  /** Only in a demo. */
  loginLinks?: LoginLinks | undefined
}>

/** One-time login links, in the memory of one process. A daemon of an operator has none. */
export type LoginLinks = Readonly<{
  make(accountName: string): string
  /** The account, once. */
  take(token: string): string | undefined
}>
