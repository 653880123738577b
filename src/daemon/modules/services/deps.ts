import type { Clock, Random } from '../../../core/kit/index.ts'
import type { ModuleManifest } from '../../../core/modules/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { SignModuleToken } from '../../auth/index.ts'
import type { Db, DbOrTx } from '../../db/index.ts'
import type { Keyring } from '../../sealed/index.ts'
import type { RunCounts } from '../run-counts.ts'
import type { CallService } from './call-service.ts'
import type { ProxyRequest } from './proxy-request.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type ServicesDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  keyring: Keyring
  /** The name of this process in leases. */
  owner: string
  /** Public address of the daemon. */
  baseUrl: string
  /** Health of the modules. */
  counts: RunCounts
  call: CallService
  proxy: ProxyRequest
  signToken: SignModuleToken
  /** The manifest of an approved version; without `version` of the newest. */
  manifestOf(db: DbOrTx, moduleId: string, version?: string): Promise<ModuleManifest | undefined>
}>
