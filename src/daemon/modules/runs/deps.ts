import type { Clock, PlatformPrincipal, Random } from '../../../core/kit/index.ts'
import type { ModuleManifest } from '../../../core/modules/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { Sandbox } from '../../../node/sandbox/index.ts'
import type { Db } from '../../db/index.ts'
import type { StoreDeps } from '../../files/index.ts'
import type { RawRequest, RawResponse, WorkPlaces } from '../../http/index.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import type { RunCounts } from '../run-counts.ts'
import type { WatchRunnable } from '../watch-runnable.ts'
import type { RunQueue } from './run-queue.ts'

/** The code of an approved version. */
export type ModuleCode = Readonly<{ manifest: ModuleManifest; files: Readonly<Record<string, string>> }>

/** Loads code; the same version again comes from memory. Throws PACKAGE_UNVERIFIED, OBJECT_STORE_UNAVAILABLE. */
export type LoadCode = (version: Readonly<{ moduleId: string; version: string }>) => Promise<ModuleCode>

/** A call of a user below the `apiPrefix` of a module. */
export type ModuleCall = Readonly<{ moduleId: string; actor: PlatformPrincipal; raw: RawRequest; signal: AbortSignal }>

/** Passes a call to the service of a type B module. */
type CallService = (call: ModuleCall) => Promise<RawResponse>

/** Dependencies of the feature. Each function takes the part it uses. */
export type ModuleRunsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  /** The name of this process in leases. */
  owner: string
  sandbox: Sandbox
  queue: RunQueue
  watch: WatchRunnable
  loadCode: LoadCode
  /** Migrations have their own sandbox, because one may take long, and wait for a place in it. */
  migrations: Sandbox
  migrationPlaces: WorkPlaces<'migration'>
  counts: RunCounts
  files: StoreDeps
  callService: CallService
  /** The settings of an installation with its secrets, as its code reads them. */
  settingsOf: (db: Db, installation: InstallationRecord, manifest: ModuleManifest) => Promise<Readonly<Record<string, unknown>>>
}>
