import { type Actor, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { AdminDeps } from './deps.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Ends an API token, everywhere within a second. What it did stays in the audit log. */
export async function revokeToken({ db, clock, revocations }: Deps, actor: Actor, { id }: { id: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const row = await tx.deleteFrom('api_tokens').where('id', '=', id).returning('name').executeTakeFirst()
    if (!row) throw problem('NOT_FOUND', `there is no API token ${id}`)
    await publishRevocation(tx, clock, { kind: 'api-token', subject: id })
    await recordAudit(tx, clock, { actor, action: 'token.revoked', subject: row.name, data: { id } })
  })
  await revocations.readNow()
}
