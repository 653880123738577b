import { type Actor, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { approvedOf, assertCompatible, assertFlagFree, assertInstallPrice, type ModuleManifest } from '../../core/modules/index.ts'
import type { Tx } from '../db/index.ts'
import { tenantById } from '../tenants/index.ts'
import { applyChange, decide } from './change-installation.ts'
import type { ModulesDeps } from './deps.ts'
import { type InstallationKey, type InstallationRecord, lockInstallation } from './installations.repo.ts'
import { approvedModule } from './store/approved-modules.ts'

type Input = Readonly<{
  moduleId: string
  approvedPermissions: readonly string[]
  /** The price that the user was shown, null for none; required for a module with a price. */
  modulePriceCents?: number | null | undefined
}>
/** The actor in a tenant. */
export type ByTenant = Readonly<{ actor: Actor & Readonly<{ tenantId: string }> }>
type Deps = Pick<ModulesDeps, 'db' | 'clock' | 'changed'>

/**
 * Installs the newest approved version; data that remains of a former installation is kept. Throws UNKNOWN_MODULE, PERMISSION_NOT_DECLARED,
 * ALREADY_INSTALLED, INCOMPATIBLE, FLAG_TAKEN, CONFLICT (another price than the shown one, or a price that was not shown).
 */
export const installModule = (deps: Deps, actor: PlatformPrincipal, input: Input) =>
  deps.db.transaction().execute((tx) => installModuleIn(deps, tx, { actor, ...input }))

/** `installModule` in a transaction of the caller. */
export async function installModuleIn(deps: Omit<Deps, 'db'>, tx: Tx, { actor, moduleId, ...input }: Input & ByTenant) {
  const { tenantId } = actor
  const found = await approvedModule(tx, moduleId)
  if (!found) throw problem('UNKNOWN_MODULE', `There is no module ${moduleId} to install. fix: choose one of GET …/modules/registry`)
  const { manifest } = found
  const permissions = approvedOf(manifest.permissions, input.approvedPermissions)
  const former = await lockInstallation(tx, { tenantId, moduleId })
  const now = isoNow(deps.clock)
  const change = decide(former, { moduleId, verb: 'install', now })
  if (!change) throw new Error(`the installation of ${moduleId} changes nothing`)
  assertCompatible(manifest)
  assertInstallPrice(manifest, input.modulePriceCents)
  await assertFlagOfModule(tx, { tenantId, moduleId }, manifest)
  if (former && manifest.type === 'A' && former.dataVersion > manifest.dataVersion) throw olderData(former, manifest)
  const kept = former && { settings: former.settings, dataGeneration: former.dataGeneration, dataVersion: former.dataVersion }
  await applyChange(deps, tx, {
    ...{ actor, former: former ?? null, manifest, emits: change.emits, data: { permissions } },
    next: {
      ...{ tenantId, moduleId, ...change.state, version: manifest.version, permissions, featureFlag: manifest.featureFlag },
      ...(kept ?? { settings: {}, dataGeneration: 0, dataVersion: 0 }),
      ...{ dataBytes: former?.dataBytes ?? 0, former: null, formerUntil: null, remote: null, upstreamHost: former?.upstreamHost ?? null },
      ...{ installedAt: now, activatedAt: null },
    },
  })
  return { success: true as const, status: 'installed' as const }
}

const olderData = ({ dataVersion, moduleId }: InstallationRecord, manifest: ModuleManifest) =>
  problem(
    'INCOMPATIBLE',
    `The remaining data of ${moduleId} has version ${dataVersion}; ${moduleId} ${manifest.version} knows ${manifest.dataVersion}. fix: wait for the next approved version, or until the data is deleted`,
  )

/** Throws FLAG_TAKEN if an operator switched the flag on by hand, or another module of the tenant has it. */
export async function assertFlagOfModule(tx: Tx, { tenantId, moduleId }: InstallationKey, { featureFlag: flag }: ModuleManifest) {
  const other = await tx
    .selectFrom('module_installations')
    .select('module_id')
    .where('tenant_id', '=', tenantId)
    .where('feature_flag', '=', flag)
    .where('module_id', '!=', moduleId)
    .where('status', '!=', 'deleted')
    .executeTakeFirst()
  const tenant = await tenantById(tx, tenantId)
  assertFlagFree({ flag, moduleId, owner: other?.module_id ?? null, isSetByHand: tenant?.featureFlags[flag] === true })
}
