import { type Actor, type Clock, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { type SupportAccess, supportAccessMs } from '../../core/support/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'

export type SupportDeps = Readonly<{ db: Db; clock: Clock }>
type Tenant = Readonly<{ tenantId: string }>

const none: SupportAccess = { expiresAt: null, grantedBy: null }

/** The access that is valid now. */
async function accessOf(db: DbOrTx, clock: Clock, { tenantId }: Tenant): Promise<SupportAccess> {
  const row = await db.selectFrom('support_access').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst()
  return row && row.expires_at > isoNow(clock) ? { expiresAt: row.expires_at, grantedBy: row.granted_by } : none
}

export const showSupportAccess = ({ db, clock }: SupportDeps, actor: PlatformPrincipal): Promise<SupportAccess> =>
  accessOf(db, clock, actor)

/** Grants access for 24 hours from now, also while an earlier grant lasts. */
export const grantSupportAccess = ({ db, clock }: SupportDeps, actor: PlatformPrincipal): Promise<SupportAccess> =>
  db.transaction().execute(async (tx) => {
    const expiresAt = new Date(clock.now().getTime() + supportAccessMs).toISOString()
    const row = { granted_by: actor.userId, expires_at: expiresAt }
    await tx
      .insertInto('support_access')
      .values({ tenant_id: actor.tenantId, ...row })
      .onConflict((conflict) => conflict.column('tenant_id').doUpdateSet(row))
      .execute()
    await recordAudit(tx, clock, { actor, action: 'support.granted', subject: actor.tenantSlug, data: { expiresAt } })
    return { expiresAt, grantedBy: actor.userId }
  })

export const revokeSupportAccess = ({ db, clock }: SupportDeps, actor: PlatformPrincipal): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await tx.deleteFrom('support_access').where('tenant_id', '=', actor.tenantId).execute()
    await recordAudit(tx, clock, { actor, action: 'support.revoked', subject: actor.tenantSlug })
  })

type Use = Readonly<{ actor: Actor; tenant: Readonly<{ id: string; slug: string }>; data: Readonly<Record<string, unknown>> }>

/** Records that an operator reads content of the tenant. Throws FORBIDDEN without a valid access. */
export async function useSupportAccess(tx: Tx, clock: Clock, { actor, tenant, data }: Use): Promise<void> {
  if ((await accessOf(tx, clock, { tenantId: tenant.id })).expiresAt === null)
    throw problem(
      'FORBIDDEN',
      `${tenant.slug} grants no support access now. fix: ask a user with manageUsers for POST /api/platform/v1/support-access (24 h)`,
    )
  await recordAudit(tx, clock, { actor, action: 'support.used', subject: tenant.slug, data })
}
