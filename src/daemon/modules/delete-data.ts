import { isoNow, plural, type SystemActor } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { installedVersion } from './activate-module.ts'
import { applyChange, decide } from './change-installation.ts'
import type { ModulesDeps } from './deps.ts'
import { type InstallationKey, lockInstallation } from './installations.repo.ts'

type Deps = Pick<ModulesDeps, 'db' | 'clock' | 'log' | 'changed'>

const actor: SystemActor = { kind: 'system', name: 'module-data-cleanup' }
const batch = 200

/**
 * Deletes the data of modules whose retention has ended, one transaction each. A failure leaves that module for the next night. Returns a summary.
 */
export async function deleteDueData(deps: Deps, signal?: AbortSignal): Promise<string> {
  const now = isoNow(deps.clock)
  let [deleted, failed, after] = [0, 0, { tenant_id: '', module_id: '' }]
  for (let last = batch; last === batch && !signal?.aborted; ) {
    const due = await deps.db
      .selectFrom('module_installations')
      .select(['tenant_id', 'module_id'])
      .where('data_delete_at', '<=', now)
      .where(({ eb, refTuple, tuple }) => eb(refTuple('tenant_id', 'module_id'), '>', tuple(after.tenant_id, after.module_id)))
      .orderBy('tenant_id')
      .orderBy('module_id')
      .limit(batch)
      .execute()
    for (const { tenant_id: tenantId, module_id: moduleId } of due) {
      if (signal?.aborted) break
      await deps.db
        .transaction()
        .execute((tx) => deleteDataIn(deps, tx, { tenantId, moduleId }))
        .then(
          (isDeleted) => {
            deleted += isDeleted ? 1 : 0
          },
          (err) => {
            failed++
            deps.log.error({ err, tenantId, moduleId }, 'the data of a module was not deleted; next attempt tomorrow')
          },
        )
    }
    last = due.length
    after = due.at(-1) ?? after
  }
  return `data of ${plural(deleted, 'module')} deleted${failed > 0 ? `, ${failed} failed` : ''}`
}

/** Deletes the data of a module if its retention has ended. Returns false if the module was installed or activated again meanwhile. */
export async function deleteDataIn(deps: Pick<Deps, 'clock' | 'changed'>, tx: Tx, key: InstallationKey): Promise<boolean> {
  const former = await lockInstallation(tx, key)
  const due = former && former.dataDeleteAt !== null && former.dataDeleteAt <= isoNow(deps.clock)
  const change = due && decide(former, { moduleId: key.moduleId, verb: 'cleanup', now: isoNow(deps.clock) })
  if (!change) return false
  await deleteRows(tx, key)
  const { manifest } = await installedVersion(tx, former)
  const empty = {
    settings: {},
    dataGeneration: 0,
    dataVersion: 0,
    dataBytes: 0,
    former: null,
    formerUntil: null,
    permissions: [],
    upstreamHost: null,
  }
  await applyChange(deps, tx, { actor, former, next: { ...former, ...change.state, ...empty }, manifest, emits: change.emits })
  return true
}

const tables = ['module_documents', 'module_secrets', 'module_runs', 'module_positions', 'module_dead_letters'] as const

async function deleteRows(tx: Tx, { tenantId, moduleId }: InstallationKey): Promise<void> {
  for (const table of tables) await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('module_id', '=', moduleId).execute()
}
