import { isoNow, type PlatformPrincipal } from '../../core/kit/index.ts'
import type { InstallationVerb } from '../../core/modules/index.ts'
import type { Tx } from '../db/index.ts'
import { installedVersion } from './activate-module.ts'
import { applyChange, decide } from './change-installation.ts'
import { chargedApps } from './charged-apps.ts'
import type { ModulesDeps } from './deps.ts'
import type { ByTenant } from './install-module.ts'
import { lockInstallation } from './installations.repo.ts'

type One = Readonly<{ moduleId: string }>

type Deps = Pick<ModulesDeps, 'db' | 'clock' | 'changed'>

/** Verbs that need no preparation. A repeated one changes and emits nothing. Throws NOT_FOUND, INVALID_TRANSITION, CONFLICT. */
const move = (deps: Deps, actor: PlatformPrincipal, one: One & Readonly<{ verb: InstallationVerb }>): Promise<void> =>
  deps.db.transaction().execute((tx) => moveIn(deps, tx, { actor, ...one }))

async function moveIn(
  deps: Omit<Deps, 'db'>,
  tx: Tx,
  { actor, moduleId, verb }: One & ByTenant & Readonly<{ verb: InstallationVerb }>,
): Promise<void> {
  const former = await lockInstallation(tx, { tenantId: actor.tenantId, moduleId })
  const change = decide(former, { moduleId, verb, now: isoNow(deps.clock) })
  if (!change || !former) return
  const { manifest } = await installedVersion(tx, former)
  await applyChange(deps, tx, { actor, former, next: { ...former, ...change.state }, manifest, emits: change.emits })
}

/** Ends a module in a transaction of the caller: an active one is deactivated, one that never was active is uninstalled. Throws CONFLICT. */
export async function endModuleIn(deps: Omit<Deps, 'db'>, tx: Tx, one: One & ByTenant): Promise<void> {
  const former = await lockInstallation(tx, { tenantId: one.actor.tenantId, moduleId: one.moduleId })
  if (former?.status === 'active') await moveIn(deps, tx, { ...one, verb: 'deactivate' })
  if (former?.status === 'installed') await moveIn(deps, tx, { ...one, verb: 'delete' })
}

const success = true as const

export async function deactivateModule(deps: Deps, actor: PlatformPrincipal, { moduleId }: One) {
  await move(deps, actor, { moduleId, verb: 'deactivate' })
  return { success, status: 'deactivated' as const }
}

/** An active module is deactivated first, in the same transaction. */
export async function uninstallModule(deps: Deps, actor: PlatformPrincipal, { moduleId }: One) {
  await move(deps, actor, { moduleId, verb: 'delete' })
  const [charged] = await chargedApps(deps.db, { moduleId, tenantId: actor.tenantId })
  return { success, status: 'pending_deletion' as const, chargedSubscriptionId: charged?.id ?? null }
}

export async function pauseModule(deps: Deps, actor: PlatformPrincipal, { moduleId }: One) {
  await move(deps, actor, { moduleId, verb: 'pause' })
  return { success, status: 'active' as const }
}

export async function resumeModule(deps: Deps, actor: PlatformPrincipal, { moduleId }: One) {
  await move(deps, actor, { moduleId, verb: 'resume' })
  return { success, status: 'active' as const }
}
