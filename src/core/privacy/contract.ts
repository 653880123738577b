import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, adminPerson, type Contract, endpoint } from '../contract/index.ts'
import { KnownLocalpart, User } from '../users/index.ts'

/** Stands in the place of an erased user. */
export const erasedName = 'erased user'

export const privacyContract = {
  eraseUser: endpoint({
    method: 'POST',
    path: '/api/admin/v1/tenants/:slug/users/:localpart/erase',
    auth: admin('operator'),
    params: z.object({ slug: Slug, localpart: KnownLocalpart }),
    returns: User,
    status: 202,
    summary: 'Erase a user for good: ends its sessions now and queues the removal of its data; can be repeated',
  }),
  exportTenant: endpoint({
    method: 'POST',
    path: '/api/admin/v1/tenants/:slug/export',
    auth: adminPerson('admin'),
    params: z.object({ slug: Slug }),
    body: z.strictObject({ cursor: z.string().max(2000).optional() }).default({}),
    returns: z.object({
      rows: z.array(z.object({ table: z.string(), row: z.record(z.string(), z.unknown()) })),
      nextCursor: z.string().nullable(),
    }),
    summary: 'Export the rows of a tenant, a page at a time, without secrets; the first page is in the audit log',
  }),
} as const satisfies Contract
