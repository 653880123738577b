import { isoIn, isoNow, problem } from '../../core/kit/index.ts'
import type { ModuleManifest, Permission } from '../../core/modules/index.ts'
import type { Tx } from '../db/index.ts'
import { isBusy, maxReservedMs } from './change-installation.ts'
import type { ModulesDeps, Prepared } from './deps.ts'
import { forgetDataAt } from './forget-data.ts'
import { type InstallationKey, type InstallationRecord, lockInstallation, replaceInstallation } from './installations.repo.ts'

/** A daemon that died no longer blocks the module, its events included, after this. A living one renews the reservation. */
const reservedMs = 20_000
const renewMs = 5_000

/** The version that an installation is about to run. */
export type Target = Readonly<{
  manifest: ModuleManifest
  permissions: readonly Permission[]
  /** The module does not run: its data is prepared when it is activated. */
  keepsData?: boolean
}>

type Deps = Pick<ModulesDeps, 'db' | 'clock' | 'prepare'>

/** The installation that a transaction reserved, and the data that it will have. */
export type Reserved = Readonly<{ installation: InstallationRecord; prepared: Prepared; target: Target }>

/**
 * Reserves the installation, prepares its data outside a transaction, and commits all in another: the data is switched by one row. `choose` checks
 * the change in the first transaction and returns undefined if nothing is to change. Throws what `choose` and the preparation throw.
 */
export async function withPreparedData<Result>(
  deps: Deps,
  key: InstallationKey,
  steps: Readonly<{
    choose: (tx: Tx, installation: InstallationRecord | undefined) => Promise<Target | undefined>
    commit: (tx: Tx, reserved: Reserved) => Promise<Result>
  }>,
): Promise<Result | undefined> {
  const { db, clock, prepare } = deps
  const begun = await db.transaction().execute(async (tx) => {
    const found = await lockInstallation(tx, key)
    const target = await steps.choose(tx, found)
    if (!found || !target) return undefined
    const installation = { ...found, generation: found.generation + 1, busyUntil: isoIn(clock, reservedMs), updatedAt: isoNow(clock) }
    await replaceInstallation(tx, installation)
    // Should this process die, a job deletes the documents that it wrote.
    if (!target.keepsData)
      await forgetDataAt(tx, clock, { ...key, generation: installation.generation, runAt: isoIn(clock, 2 * maxReservedMs) })
    return { installation, target }
  })
  if (!begun) return undefined
  const { installation, target } = begun
  const over = new AbortController()
  void renewReservation(deps, installation, over.signal)
  try {
    const { keepsData, ...version } = target
    const prepared = keepsData ? dataOf(installation) : await prepare({ installation, ...version, target: installation.generation })
    return await db.transaction().execute(async (tx) => {
      const locked = await lockInstallation(tx, key)
      if (locked?.generation !== installation.generation || !isBusy(locked, isoNow(clock))) throw overtaken(key)
      return steps.commit(tx, { installation: locked, prepared, target })
    })
  } catch (error) {
    await release(deps, installation).catch(() => undefined) // the reservation expires by itself
    throw error
  } finally {
    over.abort()
  }
}

/**
 * A renewal that fails is not repeated before the next one: the commit finds out whether the reservation expired. One that did is not renewed: the
 * module may have run since, and would lose what it wrote.
 */
async function renewReservation(
  { db, clock }: Deps,
  { tenantId, moduleId, generation }: InstallationRecord,
  over: AbortSignal,
): Promise<void> {
  for (let ms = renewMs; ms <= maxReservedMs - reservedMs; ms += renewMs) {
    await clock.sleep(renewMs, over)
    if (over.aborted) return
    await db
      .updateTable('module_installations')
      .set({ busy_until: isoIn(clock, reservedMs) })
      .where('tenant_id', '=', tenantId)
      .where('module_id', '=', moduleId)
      .where('generation', '=', generation)
      .where('busy_until', '>', isoNow(clock))
      .execute()
      .catch(() => undefined)
  }
}

const dataOf = ({ dataGeneration, dataVersion, dataBytes, remote }: InstallationRecord): Prepared => ({
  ...{ dataGeneration, dataVersion, dataBytes, remote },
})

const overtaken = ({ moduleId }: InstallationKey) =>
  problem('CONFLICT', `${moduleId} changed while its data was prepared; nothing was applied. fix: read the installation and repeat`)

/** Lets the module run again; a job deletes what the failed preparation wrote. */
async function release({ db, clock }: Deps, { tenantId, moduleId, generation }: InstallationRecord): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const locked = await lockInstallation(tx, { tenantId, moduleId })
    if (locked?.generation !== generation) return
    await replaceInstallation(tx, { ...locked, busyUntil: null, updatedAt: isoNow(clock) })
  })
}
