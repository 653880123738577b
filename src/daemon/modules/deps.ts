import type { Clock, Random } from '../../core/kit/index.ts'
import type { ModuleManifest } from '../../core/modules/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db, Tx } from '../db/index.ts'
import type { Keyring } from '../sealed/index.ts'
import type { InstallationRecord } from './installations.repo.ts'

/** An installation about to become active in a version. Documents are written to `target`, which nothing reads yet. */
export type Preparation = Readonly<{
  installation: InstallationRecord
  manifest: ModuleManifest
  /** Approved for this version. */
  permissions: readonly string[]
  /** The generation of documents to write. */
  target: number
}>

/** Documents after the preparation. `dataGeneration` is `target` if documents were written, else that of the installation. */
export type Prepared = Readonly<{
  dataGeneration: number
  dataVersion: number
  dataBytes: number
  /** Type B: whether its service confirmed the call. */
  remote?: 'pending' | 'confirmed' | null
  /** Type B: the host of its service; an activation is the consent to it. */
  upstreamHost?: string
}>

/** A change of an installation, called in its transaction before its events. `former`: null for a new installation. */
export type InstallationChange = Readonly<{
  former: InstallationRecord | null
  installation: InstallationRecord
  manifest: ModuleManifest
}>

/** Dependencies of the feature. Each function takes the part it uses. */
export type ModulesDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  keyring: Keyring
  /**
   * Before an activation or update commits: migrates the documents of type A, or calls the service of type B. Runs outside a transaction, for at
   * most 70 s, of which 10 s may be a wait. Throws MODULE_MIGRATION_FAILED or UNAVAILABLE; then nothing has changed.
   */
  prepare(preparation: Preparation): Promise<Prepared>
  /** In the transaction of each change: queues calls to a service of type B. */
  changed(tx: Tx, change: InstallationChange): Promise<void>
}>
