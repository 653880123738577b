import { type Clock, isoNow } from '../../core/kit/index.ts'
import { mayRun } from '../../core/modules/index.ts'
import type { Logger } from '../../node/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { tenantById } from '../tenants/index.ts'
import { isBusy } from './change-installation.ts'
import { findInstallation, type InstallationKey, type InstallationRecord, lockInstallation } from './installations.repo.ts'

/**
 * The installation if a run of it may start: active, not paused, not migrating, its version not withdrawn, and its tenant not suspended. Read from the
 * database, so every replica obeys at once.
 */
export async function runnableInstallation(db: DbOrTx, clock: Clock, key: InstallationKey): Promise<InstallationRecord | undefined> {
  const found = await findInstallation(db, key)
  return found && (await isRunnable(db, clock, found)) ? found : undefined
}

/**
 * The same in the transaction that commits a run, with the row locked: undefined if the installation changed since the run began, which was in
 * `generation`.
 */
export async function lockRunnable(
  tx: Tx,
  clock: Clock,
  { generation, ...key }: InstallationKey & Readonly<{ generation: number }>,
): Promise<InstallationRecord | undefined> {
  const found = await lockInstallation(tx, key)
  if (found?.generation !== generation) return undefined
  return (await isRunnable(tx, clock, found)) ? found : undefined
}

async function isRunnable(db: DbOrTx, clock: Clock, one: InstallationRecord): Promise<boolean> {
  if (!mayRun(one) || isBusy(one, isoNow(clock))) return false
  return mayBeUsed(db, one)
}

/** Its version is not withdrawn, and its tenant not suspended. */
async function mayBeUsed(db: DbOrTx, { tenantId, moduleId, version }: InstallationKey & Readonly<{ version: string }>): Promise<boolean> {
  const withdrawn = db.selectFrom('module_withdrawals').select('version').where('module_id', '=', moduleId).where('version', '=', version)
  if ((await withdrawn.executeTakeFirst()) !== undefined) return false
  return (await tenantById(db, tenantId))?.status === 'active'
}

/** The installation is reserved for a migration to `version`, which may continue. */
export async function isPreparing(db: DbOrTx, one: InstallationRecord, version: string): Promise<boolean> {
  const found = await findInstallation(db, one)
  return found?.generation === one.generation && (await mayBeUsed(db, { ...one, version }))
}

/** A withdrawn or changed version ends within a second, on every replica. */
export const checkMs = 400

type Watch = Readonly<{ over: AbortSignal; stale: AbortController }>
type WatchDeps = Readonly<{ clock: Clock; log: Logger }>

/** Aborts `stale` once `isCurrent` is false, until `over` aborts. */
export async function abortWhenStale({ clock, log }: WatchDeps, isCurrent: () => Promise<boolean>, { over, stale }: Watch): Promise<void> {
  while (!over.aborted) {
    await clock.sleep(checkMs, over)
    if (over.aborted) return
    const isStale = await isCurrent().then(
      (current) => !current,
      (err) => log.warn({ err }, 'a migration of a module was not checked'),
    )
    if (isStale) return stale.abort()
  }
}
