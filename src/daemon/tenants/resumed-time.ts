import { z } from 'zod'
import { isoNow } from '../../core/kit/index.ts'
import { afterResumedTime, liftOf } from '../../core/tenants/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import type { JobHandler } from '../db/index.ts'
import { setTenantStatusIn, type TenantsDeps } from './change-tenant.ts'
import { lockTenant, tenantById } from './tenants.repo.ts'

const Payload = z.object({ tenantId: z.string() })
const system = { kind: 'system', name: 'tenants' } as const

/** Suspends a tenant again at the end of the time that an operator granted, unless its cause was lifted or the time was extended. */
export const endResumedTime =
  ({ db, clock }: Pick<TenantsDeps, 'db' | 'clock'>): JobHandler =>
  async (payload) => {
    const { tenantId } = Payload.parse(payload)
    await db.transaction().execute(async (tx) => {
      const found = await tenantById(tx, tenantId)
      if (!found) return
      await lockTenant(tx, found.slug)
      const tenant = await tenantById(tx, tenantId)
      const to = tenant && afterResumedTime(tenant, isoNow(clock))
      if (!to) return
      await setTenantStatusIn({ tx, clock }, system, { tenant, to })
      await raiseAlert(tx, clock, {
        kind: 'suspended_again',
        subject: tenant.slug,
        title: `${tenant.slug} is suspended again`,
        body:
          'The time for which the tenant was resumed has ended, and the cause is left. Its box and chat keep running. ' +
          `To lift it: ${liftOf(tenant)}`,
        command: `tenantry tenants show ${tenant.slug}`,
        standing: true,
      })
    })
  }
