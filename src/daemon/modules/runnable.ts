import { type Clock, isoNow } from '../../core/kit/index.ts'
import { mayRun } from '../../core/modules/index.ts'
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
  const { module_id } =
    (await db
      .selectFrom('module_withdrawals')
      .select('module_id')
      .where('module_id', '=', one.moduleId)
      .where('version', '=', one.version)
      .executeTakeFirst()) ?? {}
  if (module_id !== undefined) return false
  return (await tenantById(db, one.tenantId))?.status === 'active'
}
