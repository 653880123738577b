import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { newestFirst } from '../db/index.ts'
import type { ModulesDeps } from './deps.ts'
import { existingInstallation } from './show-modules.ts'

type Page = Readonly<{ moduleId: string; cursor?: string | undefined; limit: number }>

/** Failed and recent runs of a module, newest first. Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function listModuleRuns({ db }: Pick<ModulesDeps, 'db'>, { tenantId }: PlatformPrincipal, { moduleId, cursor, limit }: Page) {
  await existingInstallation(db, { tenantId, moduleId })
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const own = db.selectFrom('module_runs').selectAll().where('tenant_id', '=', tenantId).where('module_id', '=', moduleId)
  const rows = await newestFirst(own, { after, limit: limit + 1 }).execute()
  const runs = rows.map((row) => ({
    ...{ id: row.id, version: row.version, kind: row.kind, eventType: row.event_type, cause: row.cause, depth: row.depth },
    ...{ deliveryId: row.delivery_id, attempt: row.attempt, status: row.status, ms: row.ms, error: row.error },
    violations: JSON.parse(row.violations) as { kind: string; message: string }[],
    log: JSON.parse(row.log) as string[],
    createdAt: row.created_at,
  }))
  const { page, nextCursor } = pageOf(runs, limit, pageEnd)
  return { runs: page, nextCursor }
}
