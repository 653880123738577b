import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, adminPerson, type Contract, endpoint } from '../contract/index.ts'
import { KnownLocalpart, User } from '../users/index.ts'

/** Stands in the place of an erased user. */
export const erasedName = 'erased user'

const size = z.number().int()

/** The deletion of a tenant before and while it runs; afterwards the tenant does not exist. */
export const TenantDeletion = z.object({
  slug: z.string(),
  name: z.string(),
  state: z.enum(['none', 'deleting']),
  /** Why it is deleted. */
  reason: z.string().nullable(),
  /** Rows and bytes that the deletion removes for good. */
  contents: z.object({
    users: size,
    spaces: size,
    files: size,
    fileBytes: size,
    tasks: size,
    boards: size,
    runs: size,
    modules: size,
    snapshots: size,
  }),
  /** Missing steps, in this order; each ends with its command. */
  blockers: z.array(z.string()),
  /** Where data remains that the platform cannot delete. */
  remains: z.array(z.string()),
})
export type TenantDeletion = z.infer<typeof TenantDeletion>

export const privacyContract = {
  eraseUser: endpoint({
    method: 'POST',
    audit: 'user.erased',
    path: '/api/admin/v1/tenants/:slug/users/:localpart/erase',
    auth: admin('operator'),
    params: z.object({ slug: Slug, localpart: KnownLocalpart }),
    returns: User,
    status: 202,
    summary: 'Erase a user for good: ends its sessions now and queues the removal of its data; can be repeated',
  }),
  showTenantDeletion: endpoint({
    method: 'GET',
    path: '/api/admin/v1/tenants/:slug/deletion',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    returns: TenantDeletion,
    summary: 'Show what the deletion of a tenant removes, and what must be done first; 404 once it is deleted',
  }),
  deleteTenant: endpoint({
    method: 'POST',
    audit: ['tenant.deleting', 'tenant.deleted'],
    path: '/api/admin/v1/tenants/:slug/delete',
    auth: adminPerson('admin'),
    params: z.object({ slug: Slug }),
    body: z.strictObject({ confirm: z.string().max(100), reason: z.string().trim().min(1).max(500) }),
    returns: TenantDeletion,
    status: 202,
    problems: ['CONFLICT'],
    summary: 'Delete a suspended tenant without a box for good: rows, files and snapshots, by a job; can be repeated',
  }),
  exportTenant: endpoint({
    method: 'POST',
    audit: 'tenant.exported',
    path: '/api/admin/v1/tenants/:slug/export',
    auth: adminPerson('admin'),
    cost: 'export',
    params: z.object({ slug: Slug }),
    body: z.strictObject({ cursor: z.string().max(2000).optional() }).default({}),
    returns: z.object({
      rows: z.array(z.object({ table: z.string(), row: z.record(z.string(), z.unknown()) })),
      nextCursor: z.string().nullable(),
    }),
    summary: 'Export the rows of a tenant, a page at a time, without secrets; the first page is in the audit log',
  }),
} as const satisfies Contract
