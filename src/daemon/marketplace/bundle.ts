import type { FlowBundle } from '../../core/boards/index.ts'
import { type Actor, isoNow, isProblem, problem } from '../../core/kit/index.ts'
import type { AppBundle } from '../../core/marketplace/index.ts'
import { assertCompatible, type ModuleManifest, type Permission, priceOf } from '../../core/modules/index.ts'
import { type DbOrTx, lockExclusive, type Tx } from '../db/index.ts'
import { draftOf, storeBoard } from '../flows/index.ts'
import {
  activateModule,
  approvedModule,
  approvedModules,
  assertFlagOfModule,
  deleteDataIn,
  endModuleIn,
  findInstallation,
  installModuleIn,
} from '../modules/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import type { ItemRecord } from './items.repo.ts'

// The effect of an installation in the tenant: a flow is copied as a board, an app installs its module.

/** The actor in a tenant: a user, or a job that continues the work of one. */
export type Installer = Actor & Readonly<{ tenantId: string; tenantSlug: string }>

type Deps = Omit<MarketplaceDeps, 'payments'>

/** The acts of an installation: nothing of it can be refused later except by a change in between. */
export type BundlePlan = Readonly<
  | { kind: 'flow'; draft: Awaited<ReturnType<typeof draftOf>>; modulePriceCents: null }
  | {
      kind: 'app'
      moduleId: string
      permissions: readonly Permission[]
      modulePriceCents: number | null
      /** `expired`: deactivated, and the retention of its data has ended. */
      status: 'none' | 'expired' | 'installed' | 'active' | 'deactivated'
    }
>

/** The module of an app in a tenant: the version that it has, else the newest approved one. */
type ModuleOfApp = Readonly<{
  manifest: ModuleManifest
  withdrawn: Readonly<{ reason: string }> | null
  status: Extract<BundlePlan, { kind: 'app' }>['status']
}>

/**
 * The dry run of an installation; it changes nothing. Throws MODULE_NOT_REGISTERED, INCOMPATIBLE, FLAG_TAKEN, VALIDATION (a room of another
 * tenant).
 */
export async function planBundle(deps: Deps, { tenantId }: Readonly<{ tenantId: string }>, item: ItemRecord): Promise<BundlePlan> {
  if (item.itemType === 'flow')
    return {
      kind: 'flow',
      draft: await draftOf(deps, { tenantId }, { bundle: item.bundle as FlowBundle, bindings: { roles: {}, rooms: {} } }),
      modulePriceCents: null,
    }
  const { manifest } = item.bundle as AppBundle
  const found = await moduleOf(deps, { tenantId, flag: manifest.featureFlag })
  if (!found)
    throw problem(
      'MODULE_NOT_REGISTERED',
      `${item.name} needs a module with the feature flag ${manifest.featureFlag}, and none is approved. fix: install it once the store lists the module`,
    )
  const { manifest: module, withdrawn, status } = found
  const { id: moduleId, version } = module
  if (withdrawn)
    throw problem(
      'CONFLICT',
      `${item.name} needs ${moduleId}, and its installed version ${version} was withdrawn: ${withdrawn.reason} fix: ${status === 'deactivated' ? 'uninstall' : 'update'} the module, then repeat the request`,
    )
  assertCompatible(module)
  await deps.db.transaction().execute((tx) => assertFlagOfModule(tx, { tenantId, moduleId }, module))
  const permissions = module.permissions.filter((one) => manifest.permissions.includes(one))
  return { kind: 'app', moduleId, permissions, modulePriceCents: priceOf(module)?.cents ?? null, status }
}

/** An installation stays at its version when its app is installed, unless it is being deleted or its data has expired. */
async function moduleOf(
  deps: Pick<Deps, 'db' | 'clock'>,
  { tenantId, flag }: Readonly<{ tenantId: string; flag: string }>,
): Promise<ModuleOfApp | undefined> {
  const newest = await moduleWithFlag(deps.db, flag)
  if (!newest) return undefined
  const { id: moduleId } = newest
  const installation = await findInstallation(deps.db, { tenantId, moduleId })
  const { status, version, dataDeleteAt = null } = installation ?? { status: 'deleted', version: newest.version }
  if (status === 'deleted' || status === 'pending_deletion') return { manifest: newest, withdrawn: null, status: 'none' }
  if (dataDeleteAt !== null && dataDeleteAt <= isoNow(deps.clock)) return { manifest: newest, withdrawn: null, status: 'expired' }
  const { manifest = newest, withdrawn = null } = (await approvedModule(deps.db, moduleId, version)) ?? {}
  return { manifest, withdrawn, status }
}

/** The manifest of the newest approved module with a feature flag. */
export async function moduleWithFlag(db: DbOrTx, flag: string): Promise<ModuleManifest | undefined> {
  return (await approvedModules(db)).find(({ manifest }) => manifest.featureFlag === flag)?.manifest
}

type Consent = Readonly<{ permissions: Permission[] | null; modulePrice: Readonly<{ cents: number; currency: string }> | null }>

/**
 * Permissions that an installation of an app approves, and what its module costs beside the app, in the version that will be active; null for a
 * flow, or while its module is not approved.
 */
export async function consentOf(
  deps: Pick<Deps, 'db' | 'clock'>,
  { tenantId }: Readonly<{ tenantId: string }>,
  item: ItemRecord,
): Promise<Consent> {
  if (item.itemType === 'flow') return { permissions: null, modulePrice: null }
  const { manifest } = item.bundle as AppBundle
  const found = await moduleOf(deps, { tenantId, flag: manifest.featureFlag })
  if (!found) return { permissions: null, modulePrice: null }
  return {
    permissions: found.manifest.permissions.filter((one) => manifest.permissions.includes(one)),
    modulePrice: priceOf(found.manifest),
  }
}

type Applied = Readonly<{ installedTemplateId: string | null; moduleId: string | null; ownsModule: boolean }>

type OfTenant = Readonly<{ tenantId: string; moduleId: string }>

/** Apps of one module are installed and uninstalled one after the other: two at once would each leave the module to the other. */
const lockApps = (tx: Tx, { tenantId, moduleId }: OfTenant): Promise<void> =>
  lockExclusive(tx, `marketplace-module ${tenantId} ${moduleId}`)

/** Another app installed the module, or an app whose end deactivated it; otherwise the organisation did. */
async function isOfApp(tx: Tx, { tenantId, moduleId }: OfTenant): Promise<boolean> {
  // An uninstallation may have deactivated it after the dry run.
  const status = (await findInstallation(tx, { tenantId, moduleId }))?.status
  const apps = tx
    .selectFrom('marketplace_subscriptions')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('module_id', '=', moduleId)
    .where('owns_module', '=', 1)
  const found = await (status === 'deactivated' ? apps : apps.where('status', '=', 'active')).executeTakeFirst()
  return found !== undefined
}

/** Carries out a plan in the transaction that stores the subscription. An app is active only after `activateApp`. */
export async function applyBundle(deps: Deps, tx: Tx, { actor, plan }: Readonly<{ actor: Installer; plan: BundlePlan }>): Promise<Applied> {
  if (plan.kind === 'flow') {
    const by = actor.kind === 'user' ? actor.userId : null
    const { id } = await storeBoard(deps, tx, { tenantId: actor.tenantId, by, input: plan.draft })
    return { installedTemplateId: id, moduleId: null, ownsModule: false }
  }
  const { moduleId, permissions: approvedPermissions, modulePriceCents, status } = plan
  const { tenantId } = actor
  await lockApps(tx, { tenantId, moduleId })
  const isNew = status === 'none' || status === 'expired'
  const ownsModule = isNew || (await isOfApp(tx, { tenantId, moduleId }))
  if (status === 'expired') await deleteDataIn(deps, tx, { tenantId, moduleId })
  if (isNew) await installModuleIn(deps, tx, { actor, moduleId, approvedPermissions, modulePriceCents })
  return { installedTemplateId: null, moduleId, ownsModule }
}

/** Why the module of an app is not active yet; null once it is, and for a flow. */
export type Activation = Readonly<{ code: string; message: string }> | null

/** Activates the module of an app, after the commit. A failure leaves it `installed`; the installation can be repeated. */
export async function activateApp(deps: Deps, actor: Installer, { moduleId }: Readonly<{ moduleId: string | null }>): Promise<Activation> {
  if (moduleId === null) return null
  try {
    await activateModule(deps, actor, { moduleId })
    return null
  } catch (error) {
    if (!isProblem(error)) throw error
    return { code: error.code, message: error.message }
  }
}

type Ended = Readonly<{ actor: Installer; moduleId: string | null; ownsModule: boolean }>

/** Ends the module of an app, unless another app of the tenant needs it or the organisation installed it on its own. A copied flow stays. */
export async function endBundle(deps: Deps, tx: Tx, one: Ended): Promise<void> {
  const { actor, moduleId, ownsModule } = one
  if (moduleId === null || !ownsModule) return
  await lockApps(tx, { tenantId: actor.tenantId, moduleId })
  const other = await tx
    .selectFrom('marketplace_subscriptions')
    .select('id')
    .where('tenant_id', '=', actor.tenantId)
    .where('module_id', '=', moduleId)
    .where('status', '=', 'active')
    .executeTakeFirst()
  if (!other) await endModuleIn(deps, tx, { actor, moduleId })
}
