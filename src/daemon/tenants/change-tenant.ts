import { type Actor, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import type { Tenant } from '../../core/tenants/index.ts'
import { type OwnWindow, type WindowRules, windowAt, windowInForce } from '../../core/windows/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, type DbOrTx, forUpdate } from '../db/index.ts'
import { setWindow, type TenantRecord, tenantBySlug } from './tenants.repo.ts'

export type TenantsNeeds = Readonly<{ db: Db; clock: Clock; windows: WindowRules }>

type Change = Readonly<{ slug: string }> & { readonly [Key in keyof OwnWindow]?: OwnWindow[Key] | undefined }

/** Says when a tenant may be disturbed; what is not named stays. Rollouts keep to it from their next look. Throws NOT_FOUND. */
export const changeTenant = (needs: TenantsNeeds, actor: Actor, { slug, ...change }: Change): Promise<Tenant> =>
  needs.db.transaction().execute(async (tx) => {
    await tx.selectFrom('tenants').select('id').where('slug', '=', slug).modifyEnd(forUpdate(tx)).execute()
    const tenant = await existingTenant(tx, slug)
    const { timeZone = tenant.timeZone, maintenanceWindow = tenant.maintenanceWindow } = change
    await setWindow(tx, tenant.id, { timeZone, maintenanceWindow })
    await recordAudit(tx, needs.clock, { actor, action: 'tenant.window', subject: slug, data: { timeZone, maintenanceWindow } })
    return tenantView(needs, { ...tenant, timeZone, maintenanceWindow })
  })

/** Throws NOT_FOUND naming the slug. */
export async function existingTenant(db: DbOrTx, slug: string): Promise<TenantRecord> {
  const tenant = await tenantBySlug(db, slug)
  if (!tenant) throw problem('NOT_FOUND', `there is no tenant ${slug}: \`tenantry tenants list\` shows all`)
  return tenant
}

/** As answers show it: with the window that holds. */
export function tenantView({ clock, windows }: Pick<TenantsNeeds, 'clock' | 'windows'>, tenant: TenantRecord): Tenant {
  const inForce = windowInForce(windows, tenant.tier, tenant)
  return { ...tenant, window: inForce && windowAt(inForce, isoNow(clock)) }
}
