import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { isVisible, visiblePattern } from '../kit/index.ts'
import { RoleName } from './role-book.ts'

/** As callers name one. */
export const UserKey = z.string().regex(/^usr_[0-9a-z]{20}$/, 'must be the id of a user')

/** A disabled user has no session and is locked out of the chat. */
export const UserStatus = z.enum(['active', 'disabled'])
export type UserStatus = z.infer<typeof UserStatus>

/** A language tag: `de`, `de-AT`, `zh-Hant-TW`. */
export const Locale = z.string().regex(/^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$/, 'must be a language tag such as de or de-AT')

export const DisplayName = z
  .string()
  .max(100)
  .trim()
  .min(1)
  .refine(isVisible, 'must not contain control characters')
  .meta({ pattern: visiblePattern })

/** What a user may do is said by roles, each once. */
export const Roles = z
  .array(RoleName)
  .min(1, 'must name at least one role')
  .max(20)
  .refine((roles) => new Set(roles).size === roles.length, 'must not name a role twice')
  .meta({ uniqueItems: true })

/** A user as operators see it. */
export const User = z.object({
  id: z.string(),
  tenant: Slug,
  localpart: z.string(),
  matrixUserId: z.string(),
  displayName: z.string().nullable(),
  locale: z.string().nullable(),
  avatarUrl: z.string().nullable(),
  roles: z.array(z.string()),
  status: UserStatus,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  passwordUnknownSince: Timestamp.nullable().meta({
    description: 'The chat account was made anew after a restore: nobody knows its password until it is reset',
  }),
})
export type User = z.infer<typeof User>

/**
 * At least 8 characters (spec 8), as it is typed and as the chat server reads it, which takes one sign for another and for several; it looks at no
 * more than 72 bytes, so more is refused instead of cut.
 */
export const NewPassword = z
  .string()
  .refine((text) => Math.min([...text].length, [...text.normalize('NFKC')].length) >= 8, 'must be at least 8 characters')
  .refine((text) => new TextEncoder().encode(text.normalize('NFKC')).length <= 72, 'must be at most 72 bytes')
  .meta({ description: '8 characters at least, 72 bytes at most' })
