import type { Clock, Random } from '../../core/kit/index.ts'
import type { Revocations, SigningKeys } from '../auth/index.ts'
import type { Db } from '../db/index.ts'
import type { Keyring } from '../sealed/index.ts'

/** All that this room needs; each verb takes the part it uses. */
export type AdminDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  keyring: Keyring
  /** Keys of the audience `admin`. */
  keys: SigningKeys
  revocations: Revocations
  /** One-time codes are demanded of operators and admins. */
  totpRequired: boolean
}>
