import { isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { Installation, RegistryEntry } from '../../core/modules/index.ts'
import { consentOf, isNewer, priceOf } from '../../core/modules/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { ModulesDeps } from './deps.ts'
import { findInstallation, type InstallationRecord, installationsOf } from './installations.repo.ts'
import { approvedModule, approvedModules } from './store/approved-modules.ts'

type Deps = Pick<ModulesDeps, 'db' | 'clock'>

/** Modules that can be installed, with the installation of the tenant; a deleted one is shown, as its module can be installed again. */
export async function listRegistry({ db }: Deps, { tenantId }: PlatformPrincipal): Promise<{ modules: RegistryEntry[] }> {
  const rows = await db
    .selectFrom('module_installations')
    .select(['module_id', 'status', 'version'])
    .where('tenant_id', '=', tenantId)
    .execute()
  const own = new Map(rows.map(({ module_id, status, version }) => [module_id, { status, version }]))
  const modules = (await approvedModules(db)).map(({ moduleId, version, manifest }) => {
    const { name, type, featureFlag, description, permissions } = manifest
    const entry = { moduleId, name, version, status: 'active' as const, type, featureFlag, description, permissions }
    return { ...entry, consent: [...consentOf(manifest)], price: priceOf(manifest), installation: own.get(moduleId) ?? null }
  })
  return { modules }
}

export async function listInstallations(deps: Deps, { tenantId }: PlatformPrincipal): Promise<{ modules: Installation[] }> {
  const found = await installationsOf(deps.db, tenantId)
  return { modules: await Promise.all(found.map((one) => viewOf(deps, one))) }
}

export async function showInstallation(deps: Deps, { tenantId }: PlatformPrincipal, { moduleId }: Readonly<{ moduleId: string }>) {
  const one = await existingInstallation(deps.db, { tenantId, moduleId })
  const position = await deps.db
    .selectFrom('module_positions')
    .select(['failing_since', 'error', 'skipped', 'skipped_at'])
    .where('tenant_id', '=', tenantId)
    .where('module_id', '=', moduleId)
    .executeTakeFirst()
  const { failing_since: failingSince = null, error = null, skipped = 0, skipped_at: skippedAt = null } = position ?? {}
  return { ...(await viewOf(deps, one)), delivery: position ? { failingSince, error, skipped, skippedAt } : null }
}

/** Throws NOT_FOUND, also if the data of the module was deleted. */
export async function existingInstallation(db: DbOrTx, key: Readonly<{ tenantId: string; moduleId: string }>): Promise<InstallationRecord> {
  const found = await findInstallation(db, key)
  if (!found || found.status === 'deleted') throw problem('NOT_FOUND', `Module ${key.moduleId} is not installed. fix: install it first`)
  return found
}

/** Routes of a module are below this path. */
export const apiPrefixOf = (moduleId: string): string => `/api/platform/v1/module-api/${moduleId}`

async function viewOf({ db, clock }: Deps, one: InstallationRecord): Promise<Installation> {
  const { moduleId, version, status, paused, permissions, featureFlag, installedAt, activatedAt, dataBytes, remote } = one
  const [present, newest] = [await approvedModule(db, moduleId, version), await approvedModule(db, moduleId)]
  const update = newest && isNewer(newest.version, version) ? newest : undefined
  const canRollBack = one.former !== null && (one.formerUntil ?? '') > isoNow(clock)
  return {
    ...{ moduleId, name: present?.manifest.name ?? moduleId, version, type: present?.manifest.type ?? 'A', status, paused },
    ...{ permissions: [...permissions], declaredPermissions: present?.manifest.permissions ?? [], featureFlag },
    ...{ apiPrefix: apiPrefixOf(moduleId), installedAt, activatedAt, data_delete_at: one.dataDeleteAt, dataBytes, remote },
    updateAvailable: update?.version ?? null,
    price: present ? priceOf(present.manifest) : null,
    updatePrice: update ? priceOf(update.manifest) : null,
    withdrawn: present?.withdrawn ? { reason: present.withdrawn.reason } : null,
    rollback: canRollBack && one.former ? rollbackOf(one, one.former) : null,
  }
}

/** The rollback that is possible, and what it loses. */
export const rollbackOf = ({ dataGeneration, formerUntil }: InstallationRecord, former: NonNullable<InstallationRecord['former']>) => ({
  version: former.version,
  until: formerUntil ?? former.updatedAt,
  losesDataSince: former.dataGeneration === dataGeneration ? null : former.updatedAt,
})
