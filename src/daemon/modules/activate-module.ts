import { isoNow, problem } from '../../core/kit/index.ts'
import { assertCompatible } from '../../core/modules/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { applyChange, decide } from './change-installation.ts'
import type { ModulesDeps } from './deps.ts'
import { assertFlagOfModule, type ByTenant } from './install-module.ts'
import type { InstallationRecord } from './installations.repo.ts'
import { withPreparedData } from './prepare-data.ts'
import { approvedModule } from './store/approved-modules.ts'

type One = Readonly<{ moduleId: string }>

/**
 * Activates a module: its data is migrated, then state, flag, usage, billing, event and audit entry commit together. Throws NOT_FOUND,
 * INVALID_TRANSITION, RETENTION_EXPIRED, FLAG_TAKEN, INCOMPATIBLE, MODULE_MIGRATION_FAILED, UNAVAILABLE, CONFLICT.
 */
export async function activateModule(deps: ModulesDeps, actor: ByTenant['actor'], { moduleId }: One) {
  const key = { tenantId: actor.tenantId, moduleId }
  const changeOf = (from: InstallationRecord | undefined) => decide(from, { moduleId, verb: 'activate', now: isoNow(deps.clock) })
  await withPreparedData(deps, key, {
    choose: async (tx, found) => {
      const change = changeOf(found)
      if (!change || !found) return undefined
      const { manifest, withdrawn } = await installedVersion(tx, found)
      if (withdrawn) throw withdrawnVersion(found, withdrawn.reason)
      assertCompatible(manifest)
      await assertFlagOfModule(tx, key, manifest)
      return { manifest, permissions: found.permissions }
    },
    commit: async (tx, { installation, prepared, target: { manifest } }) => {
      const change = changeOf({ ...installation, busyUntil: null })
      if (!change) throw new Error(`the activation of ${moduleId} changes nothing`)
      const { remote = null, ...data } = prepared
      const next = { ...installation, ...change.state, ...data, remote, activatedAt: isoNow(deps.clock) }
      await applyChange(deps, tx, { actor, former: installation, next, manifest, emits: change.emits })
    },
  })
  return { success: true as const, status: 'active' as const }
}

/** The approved version that an installation has. */
export async function installedVersion(db: DbOrTx, one: InstallationRecord) {
  const found = await approvedModule(db, one.moduleId, one.version)
  if (!found) throw new Error(`the approved version ${one.version} of ${one.moduleId} is missing`)
  return found
}

export const withdrawnVersion = ({ moduleId, version }: Pick<InstallationRecord, 'moduleId' | 'version'>, reason: string) =>
  problem('INVALID_TRANSITION', `${moduleId} ${version} was withdrawn: ${reason} fix: update the module when a new version is approved`)
