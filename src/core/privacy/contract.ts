import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, endpoint } from '../contract/index.ts'
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
} as const satisfies Contract
