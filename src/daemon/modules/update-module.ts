import { isoIn, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import {
  approvedAfterUpdate,
  assertCompatible,
  assertPriceShown,
  isNewer,
  type ModuleManifest,
  type Permission,
  permissionDifference,
} from '../../core/modules/index.ts'
import type { Tx, WithTx } from '../db/index.ts'
import { installedVersion, withdrawnVersion } from './activate-module.ts'
import { applyChange, decide } from './change-installation.ts'
import type { ModulesDeps } from './deps.ts'
import { forgetDataAt } from './forget-data.ts'
import { assertFlagOfModule } from './install-module.ts'
import { type FormerVersion, type InstallationRecord, lockInstallation } from './installations.repo.ts'
import { type Reserved, withPreparedData } from './prepare-data.ts'
import { rollbackOf } from './show-modules.ts'
import { approvedModule } from './store/approved-modules.ts'

/** A rollback is possible that long after an update. */
const rollbackMs = 7 * 86_400_000

type Input = Readonly<{
  moduleId: string
  version?: string | undefined
  approvedPermissions?: readonly string[] | undefined
  modulePriceCents?: number | null | undefined
}>

/**
 * Updates a module to a newer approved version; the data of an active one is migrated first. The present version changes nothing. Throws
 * UNKNOWN_MODULE, PERMISSIONS_CHANGED, PERMISSION_NOT_DECLARED, CONFLICT (a higher price that was not shown), and as `activateModule`.
 */
export async function updateModule(deps: ModulesDeps, actor: PlatformPrincipal, { moduleId, ...input }: Input) {
  const key = { tenantId: actor.tenantId, moduleId }
  let present: Pick<InstallationRecord, 'version' | 'permissions'> | undefined
  const updated = await withPreparedData(deps, key, {
    choose: async (tx, found) => {
      decide(found, { moduleId, verb: 'update', now: isoNow(deps.clock) })
      if (!found) return undefined
      present = found
      const next = await nextVersion(tx, found, input.version)
      if (!next) return undefined
      assertCompatible(next.manifest)
      const { manifest } = await installedVersion(tx, found)
      const permissions = consented(manifest, { found, next: next.manifest, approved: input.approvedPermissions })
      assertPriceShown({ present: manifest, next: next.manifest, shownCents: input.modulePriceCents })
      await assertFlagOfModule(tx, key, next.manifest)
      return { manifest: next.manifest, permissions, keepsData: found.status !== 'active' }
    },
    commit: async (tx, reserved) => {
      const { version } = reserved.target.manifest
      const next = await approvedModule(tx, moduleId, version)
      if (next?.withdrawn) throw withdrawnVersion({ moduleId, version }, next.withdrawn.reason)
      return commitUpdate({ ...deps, tx }, actor, reserved)
    },
  })
  const { version, permissions } = updated ?? (present as NonNullable<typeof present>)
  return { success: true as const, version, permissions: [...permissions] }
}

/** The version to update to; undefined if it is the present one. */
async function nextVersion(tx: Tx, found: InstallationRecord, version: string | undefined) {
  const { moduleId, version: present } = found
  const next = await approvedModule(tx, moduleId, version)
  if (!next)
    throw problem('UNKNOWN_MODULE', `${moduleId} ${version ?? ''} is not approved. fix: leave version out for the newest approved one`)
  if (next.version === present) return undefined
  if (next.withdrawn) throw withdrawnVersion({ moduleId, version: next.version }, next.withdrawn.reason)
  if (!isNewer(next.version, present))
    throw problem(
      'INVALID_TRANSITION',
      `${moduleId} ${next.version} is older than the installed ${present}. fix: roll the last update back`,
    )
  return next
}

type Consent = Readonly<{ found: InstallationRecord; next: ModuleManifest; approved: readonly string[] | undefined }>

/** Approved permissions of the next version. A module that moves to a server of its developer needs consent too. */
function consented(present: ModuleManifest, { found, next, approved }: Consent): readonly Permission[] {
  const moves = present.type !== next.type && approved === undefined
  const declared = { declared: present.permissions, approved: found.permissions, next: next.permissions }
  const permissions = moves ? undefined : approvedAfterUpdate({ ...declared, nextApproved: approved })
  if (permissions) return permissions
  const difference = permissionDifference(present.permissions, next.permissions)
  const words = [
    ...(difference.added.length > 0 ? [`adds ${difference.added.join(', ')}`] : []),
    ...(difference.removed.length > 0 ? [`removes ${difference.removed.join(', ')}`] : []),
    ...(present.type === next.type ? [] : [`changes from type ${present.type} to type ${next.type}`]),
  ]
  throw problem('PERMISSIONS_CHANGED', `${next.id} ${next.version} ${words.join(' and ')}. fix: send approvedPermissions`, {
    permissions: difference,
  })
}

async function commitUpdate(deps: WithTx<ModulesDeps>, actor: PlatformPrincipal, { installation, prepared, target }: Reserved) {
  const { tx } = deps
  const { moduleId, tenantId, version, permissions, featureFlag, dataGeneration, dataVersion, dataBytes } = installation
  const now = isoNow(deps.clock)
  const change = decide({ ...installation, busyUntil: null }, { moduleId, verb: 'update', now })
  if (!change) throw new Error(`the update of ${moduleId} changes nothing`)
  const former: FormerVersion = { version, permissions, featureFlag, dataGeneration, dataVersion, dataBytes, updatedAt: now }
  const formerUntil = isoIn(deps.clock, rollbackMs)
  const { manifest } = target
  const { remote = null, ...data } = prepared
  if (data.dataGeneration !== dataGeneration)
    await forgetDataAt(tx, deps.clock, { tenantId, moduleId, generation: dataGeneration, runAt: formerUntil })
  return applyChange(deps, tx, {
    ...{ actor, former: installation, manifest, emits: change.emits, data: { from: version, permissions: target.permissions } },
    next: {
      ...{ ...installation, ...change.state, ...data, remote, former, formerUntil },
      ...{ version: manifest.version, permissions: target.permissions, featureFlag: manifest.featureFlag },
    },
  })
}

/** Its service confirmed a version of type B that is active; one of type A has none, and gets no events of a former version. */
const remoteAfter = ({ status, remote }: InstallationRecord, { type }: ModuleManifest): InstallationRecord['remote'] =>
  status !== 'active' ? remote : type === 'B' ? 'confirmed' : null

/**
 * Returns to the version and data before the last update, within 7 days. `losesDataSince`: data written since then is lost; null: nothing is
 * lost. Throws NOT_FOUND, INVALID_TRANSITION, INCOMPATIBLE, FLAG_TAKEN, CONFLICT.
 */
export const rollbackModule = (
  deps: Pick<ModulesDeps, 'db' | 'clock' | 'changed'>,
  actor: PlatformPrincipal,
  { moduleId }: Readonly<{ moduleId: string }>,
) =>
  deps.db.transaction().execute(async (tx) => {
    const { tenantId } = actor
    const now = isoNow(deps.clock)
    const found = await lockInstallation(tx, { tenantId, moduleId })
    const change = decide(found, { moduleId, verb: 'rollback', now })
    if (!change || !found) throw new Error(`the rollback of ${moduleId} changes nothing`)
    const { former } = found
    if (!former || (found.formerUntil ?? '') <= now)
      throw problem('INVALID_TRANSITION', `${moduleId} was not updated in the last 7 days, so there is nothing to roll back.`)
    const { manifest, withdrawn } = await installedVersion(tx, { ...found, version: former.version })
    if (withdrawn) throw withdrawnVersion({ moduleId, version: former.version }, withdrawn.reason)
    assertCompatible(manifest)
    await assertFlagOfModule(tx, { tenantId, moduleId }, manifest)
    const { losesDataSince } = rollbackOf(found, former)
    const isSameData = losesDataSince === null
    if (!isSameData) await forgetDataAt(tx, deps.clock, { tenantId, moduleId, generation: found.dataGeneration, runAt: now })
    const { version, permissions, featureFlag, dataGeneration, dataVersion } = former
    const dataBytes = isSameData ? found.dataBytes : former.dataBytes
    await applyChange(deps, tx, {
      ...{ actor, former: found, manifest, emits: change.emits, data: { from: found.version, losesDataSince } },
      next: {
        ...{ ...found, ...change.state, version, permissions, featureFlag, dataGeneration, dataVersion, dataBytes },
        ...{ former: null, formerUntil: null, remote: remoteAfter(found, manifest) },
      },
    })
    return { success: true as const, version, losesDataSince }
  })
