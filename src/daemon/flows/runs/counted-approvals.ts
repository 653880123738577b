import { boundRole } from '../../../core/boards/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { findUserById } from '../../users/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunElement } from './elements.repo.ts'
import { findRun } from './runs.repo.ts'
import { eligibleAmong } from './stalled-elements.ts'

type Open = Readonly<{ tenantId: string; open: readonly RunElement[] }>

/** How many approvals of each open element count now: of active users who have the role and may decide. Reads nothing without approvals. */
export async function countApprovals(db: DbOrTx, { tenantId, open }: Open): Promise<ReadonlyMap<RunElement, number>> {
  const roles = new Map<string, readonly string[]>()
  const rolesOf = async (id: string) => {
    const user = roles.has(id) ? undefined : await findUserById(db, id)
    if (user) roles.set(id, user.tenantId === tenantId && user.status === 'active' ? user.roles : [])
    return roles.get(id) ?? []
  }
  const counts = new Map<RunElement, number>()
  for (const one of open) {
    if (one.approvals.length === 0) continue
    const run = await findRun(db, { tenantId, id: one.runId })
    if (!run) continue
    const { definition, graph } = await boardOf(db, { tenantId, boardId: run.boardId, version: run.boardVersion })
    const element = graph.elements.get(one.elementId)
    if (element?.kind !== 'checkpoint') continue
    const role = boundRole(definition, element.config.assignedRole)
    const holders: string[] = []
    for (const id of one.approvals) if (role !== undefined && (await rolesOf(id)).includes(role)) holders.push(id)
    counts.set(one, eligibleAmong(holders, { run, element }).length)
  }
  return counts
}
