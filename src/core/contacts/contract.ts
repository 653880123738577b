import { z } from 'zod'
import { type Contract, endpoint, Paging, platform } from '../contract/index.ts'
import { folded, UserKey } from '../users/index.ts'

const base = '/api/platform/v1/contacts'

/** A user as others of its tenant see it. */
const Contact = z.object({
  userId: z.string(),
  matrixUserId: z.string(),
  displayName: z.string().nullable(),
  avatarUrl: z.string().nullable(),
  roles: z.array(z.string()),
})
export type Contact = z.infer<typeof Contact>

/** Accents do not count, so accents alone would find everybody. */
const Search = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((words) => folded(words).trim() !== '', 'must hold more than accents')
  .meta({
    description: 'Words of which each stands in the name or in the name before the colon of the chat id; capitals and accents do not count',
  })

/** Whom a user may see: itself, whoever shares a space with it, whose role is listed for all; with `readContacts` everybody. */
export const contactsContract = {
  listContacts: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    query: Paging.extend({
      search: Search.optional(),
    }),
    returns: z.object({ contacts: z.array(Contact), nextCursor: z.string().nullable() }),
    tagged: true,
    summary: 'The active users of the tenant that the caller may see, by name',
  }),
  showContact: endpoint({
    method: 'GET',
    path: `${base}/:userId`,
    auth: platform(),
    params: z.object({ userId: UserKey }),
    returns: Contact,
    tagged: true,
    summary: 'One of them',
  }),
} as const satisfies Contract
