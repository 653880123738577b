import { type BoardDefinition, boundRole, type ElementOf, isWork, workerRole } from '../../../core/boards/index.ts'
import { plural } from '../../../core/kit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { activeUsersWithRole, hasActiveUser } from '../../users/index.ts'
import type { RunRecord } from './runs.repo.ts'

/** Reads the users of each role at most once. */
const usersOf = (db: DbOrTx, tenantId: string) => {
  const all = new Map<string, Promise<readonly string[]>>()
  const some = new Map<string, Promise<boolean>>()
  return {
    withRole: (role: string) => cached(all, role, () => activeUsersWithRole(db, { tenantId, role })),
    hasRole: (role: string) => cached(some, role, () => hasActiveUser(db, { tenantId, role })),
  }
}

function cached<Value>(values: Map<string, Value>, key: string, read: () => Value): Value {
  const value = values.get(key) ?? read()
  values.set(key, value)
  return value
}

type Warning = Readonly<{ elementId: string; code: 'TOO_FEW_APPROVERS' | 'NOBODY_IN_ROLE'; message: string }>

/** Elements of the board that the active users cannot approve or do now. */
export async function startWarnings(
  db: DbOrTx,
  { run, definition }: Readonly<{ run: RunRecord; definition: BoardDefinition }>,
): Promise<Warning[]> {
  const warnings: Warning[] = []
  const users = usersOf(db, run.tenantId)
  for (const element of definition.elements) {
    if (!isWork(element)) continue
    const { id: elementId, label } = element
    const role = workerRole(definition, element.config)
    if (role === null) continue
    if (element.kind !== 'checkpoint') {
      if (await users.hasRole(role)) continue
      warnings.push({ elementId, code: 'NOBODY_IN_ROLE', message: `"${label}" is done by the role ${role}, which no active user has.` })
      continue
    }
    const eligible = eligibleAmong(await users.withRole(role), { run, element })
    const { requiredApprovals } = element.config
    if (eligible.length >= requiredApprovals) continue
    const message = `"${label}" needs ${plural(requiredApprovals, 'approval')}, but only ${plural(eligible.length, 'active user')} can give one.`
    warnings.push({ elementId, code: 'TOO_FEW_APPROVERS', message })
  }
  return warnings
}

type Deciding = Readonly<{ run: RunRecord; definition: BoardDefinition; element: ElementOf<'checkpoint'> }>

/** Ids of the active users who may approve: in the role, and unless the element allows it neither starter nor submitter. */
export async function eligibleFor(db: DbOrTx, { run, definition, element }: Deciding): Promise<string[]> {
  const role = boundRole(definition, element.config.assignedRole)
  if (role === undefined) return []
  return eligibleAmong(await activeUsersWithRole(db, { tenantId: run.tenantId, role }), { run, element })
}

/** Those of these users of the role who may decide. */
export function eligibleAmong(users: readonly string[], { run, element }: Omit<Deciding, 'definition'>): string[] {
  const { startedBy, submitters } = run.state
  return element.config.allowSelfApproval ? [...users] : users.filter((id) => id !== startedBy && !submitters.includes(id))
}
