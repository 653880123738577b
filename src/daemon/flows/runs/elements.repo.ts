import { type DbOrTx, deleteRows, insertRows, updateRows, type Write } from '../../db/index.ts'
import type { RunElementTable } from './runs.tables.ts'

/** An element that waits for a user. Its id is that of the token. */
export type RunElement = Readonly<{
  runId: string
  tokenId: string
  tenantId: string
  elementId: string
  kind: RunElementTable['kind']
  label: string
  /** Null: it is for the user who started the run. */
  role: string | null
  starterId: string | null
  escalatedRole: string | null
  requiredApprovals: number | null
  approvals: readonly string[]
  taskId: string | null
  escalationTaskId: string | null
  dueAt: string | null
  openedAt: string
}>

const toElement = (row: RunElementTable): RunElement => ({
  runId: row.run_id,
  tokenId: row.token_id,
  tenantId: row.tenant_id,
  elementId: row.element_id,
  kind: row.kind,
  label: row.label,
  role: row.role_key || null,
  starterId: row.starter_id,
  escalatedRole: row.escalated_role,
  requiredApprovals: row.required_approvals === null ? null : Number(row.required_approvals),
  approvals: JSON.parse(row.approvals),
  taskId: row.task_id,
  escalationTaskId: row.escalation_task_id,
  dueAt: row.due_at,
  openedAt: row.opened_at,
})

export function insertElements(elements: readonly RunElement[]): Write[] {
  const rows = elements.map((one) => ({
    ...{ run_id: one.runId, token_id: one.tokenId, tenant_id: one.tenantId, element_id: one.elementId, kind: one.kind, label: one.label },
    ...{ role_key: one.role ?? '', starter_id: one.starterId, escalated_role: one.escalatedRole },
    required_approvals: one.requiredApprovals,
    ...{ approvals: JSON.stringify(one.approvals), task_id: one.taskId, escalation_task_id: one.escalationTaskId },
    ...{ due_at: one.dueAt, opened_at: one.openedAt },
  }))
  return rows.length > 0 ? [insertRows('run_elements', rows)] : []
}

type OfRun = Readonly<{ tenantId: string; runId: string }>

export async function openElements(db: DbOrTx, { tenantId, runId }: OfRun): Promise<RunElement[]> {
  const query = db.selectFrom('run_elements').selectAll().where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  return (await query.orderBy('opened_at').orderBy('token_id').execute()).map(toElement)
}

type Changes = Partial<Readonly<{ approvals: string; escalation_task_id: string | null; escalated_role: string }>>

type One = OfRun & Readonly<{ tokenId: string }>

export const changeElement = ({ tenantId, runId, tokenId }: One, changes: Changes): Write =>
  updateRows('run_elements', { tenant_id: tenantId, run_id: runId, token_id: tokenId }, changes)

export const deleteElement = ({ tenantId, runId, tokenId }: One): Write =>
  deleteRows('run_elements', { tenant_id: tenantId, run_id: runId, token_id: tokenId })

type Mine = Readonly<{
  tenantId: string
  userId: string | null
  roles: readonly string[]
  kinds: readonly RunElement['kind'][]
  after?: Readonly<{ openedAt: string; id: string }> | undefined
  limit: number
}>

/** Open elements of this user, as the one who started the run, or of these roles, also since they were overdue. Oldest first. */
export async function openFor(db: DbOrTx, { tenantId, userId, roles, kinds, after, limit }: Mine): Promise<RunElement[]> {
  if (roles.length === 0 && userId === null) return []
  let query = db
    .selectFrom('run_elements')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('kind', 'in', [...kinds])
    .where(({ eb, or }) =>
      or([
        ...(roles.length > 0 ? [eb('role_key', 'in', [...roles]), eb('escalated_role', 'in', [...roles])] : []),
        ...(userId === null ? [] : [eb('starter_id', '=', userId)]),
      ]),
    )
    .orderBy('opened_at')
    .orderBy('run_id')
    .orderBy('token_id')
    .limit(limit)
  if (after) {
    const [runId, tokenId] = after.id.split('.') as [string, string]
    query = query.where(({ eb, or, and }) =>
      or([
        eb('opened_at', '>', after.openedAt),
        and([eb('opened_at', '=', after.openedAt), eb('run_id', '>', runId)]),
        and([eb('opened_at', '=', after.openedAt), eb('run_id', '=', runId), eb('token_id', '>', tokenId)]),
      ]),
    )
  }
  return (await query.execute()).map(toElement)
}
