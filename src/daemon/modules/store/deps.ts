import type { Clock, Random } from '../../../core/kit/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { LoadedModule, scanInProcess } from '../../../node/module-package/index.ts'
import type { testModule } from '../../../node/module-test/index.ts'
import type { Db } from '../../db/index.ts'
import type { Mailer } from '../../mail/index.ts'
import type { ObjectStore } from '../../objects/index.ts'
import type { Keyring } from '../../sealed/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type StoreDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  objects: ObjectStore
  keyring: Keyring
  /** The folder with the audit key, which signs approvals. */
  dataDir: string
  /** Address of the platform in download links. */
  baseUrl: string
  mailer: Mailer
  /** Registration of developers: every user with `manageModules`, a user with a code, or none. */
  registration: 'open' | 'invite' | 'closed'
  /** The currency of all prices: ISO 4217, lower case. */
  currency: string
  /** Scans a package outside the thread of the daemon. */
  scan: (zip: Buffer, signal: AbortSignal) => ReturnType<typeof scanInProcess>
  /** Runs a type A module in the sandbox. `now`: ISO 8601. */
  test: (module: LoadedModule, now: string) => ReturnType<typeof testModule>
}>

/** The key of a package in the object store. Contains only an id. */
export const packageKey = (artifactId: string): string => `store/${artifactId}`
