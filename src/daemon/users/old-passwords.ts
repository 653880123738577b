import './users.tables.ts'
import { alertOf } from '../../core/alerts/index.ts'
import { type Clock, elapsedMs, isoIn, isoNow } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

type OfTenant = Readonly<{ id: string; tenantId: string }>

/** Notes that a user has a new password. The alert is over with the last who had an old one. */
export async function recordPasswordSet(tx: Tx, clock: Clock, { id, tenantId }: OfTenant): Promise<void> {
  const before = await tx.selectFrom('user_passwords').select('old_since').where('user_id', '=', id).executeTakeFirst()
  const fresh = { set_at: isoNow(clock), old_since: null }
  await tx
    .insertInto('user_passwords')
    .values({ user_id: id, tenant_id: tenantId, ...fresh })
    .onConflict((c) => c.column('user_id').doUpdateSet(fresh))
    .execute()
  if (before?.old_since) await tellOld(tx, clock, tenantId)
}

/** How far the clocks of an agent and of the platform may be apart: naming one too many costs a look, one too few a way in. */
const apartMs = 60_000

type WentBack = Readonly<{ tenantId: string; takenAt: string }>

/**
 * The chat server of a tenant has the passwords of another moment: whoever got a new one after that has an older one again, and whoever got it
 * before has it, also if an earlier way back had taken it. Answers how many have an old one now.
 */
export async function markOldPasswords(tx: Tx, clock: Clock, { tenantId, takenAt }: WentBack): Promise<number> {
  const moment = isoIn(clock, -elapsedMs(takenAt, isoNow(clock)) - apartMs)
  const ofTenant = tx.updateTable('user_passwords').where('tenant_id', '=', tenantId)
  await ofTenant.set({ old_since: null }).where('set_at', '<', moment).where('old_since', '>', takenAt).execute()
  // Of several ways back the first counts: what was taken after it has the old password too.
  await ofTenant
    .set({ old_since: isoNow(clock) })
    .where('set_at', '>=', moment)
    .where('old_since', 'is', null)
    .execute()
  return tellOld(tx, clock, tenantId)
}

async function tellOld(tx: Tx, clock: Clock, tenantId: string): Promise<number> {
  const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
  const count = await countOldPasswords(tx, tenantId)
  if (count > 0) await raiseAlert(tx, clock, alertOf.passwords_old({ slug, count }))
  else await closeAlerts(tx, clock, { subject: slug, kinds: ['passwords_old'], because: 'each has a newer password again' })
  return count
}

async function countOldPasswords(db: DbOrTx, tenantId: string): Promise<number> {
  const { count } = await db
    .selectFrom('user_passwords')
    .select((of) => of.fn.countAll().as('count'))
    .where('tenant_id', '=', tenantId)
    .where('old_since', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}
