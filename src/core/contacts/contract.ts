import { z } from 'zod'
import { type Contract, endpoint, Paging, platform } from '../contract/index.ts'
import { foldName, UserKey } from '../users/index.ts'

const base = '/api/platform/v1/contacts'

/** A user as other users of its tenant see it. */
const Contact = z.object({
  userId: z.string(),
  matrixUserId: z.string(),
  displayName: z.string().nullable(),
  avatarUrl: z.string().nullable(),
  roles: z.array(z.string()),
})
export type Contact = z.infer<typeof Contact>

/** Accents are ignored, so a search of accents alone would match everyone. */
export const Search = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((words) => foldName(words).trim() !== '', 'must not consist of accents alone')
  .meta({
    description: 'Words that all occur in the display name or localpart; case and accents are ignored',
  })

/** Contacts of a user: itself, members of its spaces, users with a listed role; with `readContacts` all users of the tenant. */
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
    summary: 'List the active users that you may see, by name',
  }),
  showContact: endpoint({
    method: 'GET',
    path: `${base}/:userId`,
    auth: platform(),
    params: z.object({ userId: UserKey }),
    returns: Contact,
    tagged: true,
    summary: 'Show a contact',
  }),
} as const satisfies Contract
