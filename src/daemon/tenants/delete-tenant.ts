import { type Clock, isoNow, problem, type TenantId } from '../../core/kit/index.ts'
import { active } from '../../core/tenants/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { Tx } from '../db/index.ts'
import { setStatus, type TenantRecord } from './tenants.repo.ts'

/** Throws CONFLICT. */
export function assertNotDeleting({ slug, status }: Pick<TenantRecord, 'slug' | 'status'>): void {
  if (status === 'deleting')
    throw problem('CONFLICT', `Tenant ${slug} is being deleted. fix: wait until \`tenantry tenants show ${slug}\` no longer finds it`)
}

/** From now on the tenant can neither be changed nor resumed, and no box or user can be created for it. */
export async function startTenantDeletion(tx: Tx, clock: Clock, { id, reason }: Readonly<{ id: TenantId; reason: string }>): Promise<void> {
  await setStatus(tx, id, { ...active, status: 'deleting', suspendedReason: reason, updatedAt: isoNow(clock) })
  await publishRevocation(tx, clock, { kind: 'tenant', subject: id })
}
