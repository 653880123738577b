import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { Email, Timestamp } from '../contract/index.ts'
import { isVisible, type Random, randomText, visiblePattern } from '../kit/index.ts'
import { isCommonPassword } from './common-passwords.ts'
import { foldName } from './fold-name.ts'
import { RoleName } from './role-book.ts'

/** The id of a user in a request. */
export const UserKey = z.string().regex(/^usr_[0-9a-z]{20}$/, 'must be the id of a user')

/** A disabled user has no session and a locked chat account. An erased one has no data either, and stays erased. */
export const UserStatus = z.enum(['active', 'disabled', 'erased'])
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

/** Roles grant capabilities. */
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
  email: z.string().nullable().meta({ description: 'Where mails about the account go: invitations, forgotten passwords' }),
  avatarUrl: z.string().nullable(),
  roles: z.array(z.string()),
  status: UserStatus,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  passwordUnknownSince: Timestamp.nullable().meta({
    description: 'The chat account was recreated after a restore; its password is unknown until it is reset',
  }),
})
export type User = z.infer<typeof User>

/**
 * At least 8 characters (spec 8), counted as typed and as the chat server normalises them: NFKC replaces and expands characters. The chat server
 * reads only 72 bytes, so longer passwords are refused instead of cut. Passwords that a guesser tries first are refused too.
 */
export const NewPassword = z
  .string()
  .refine((text) => Math.min([...text].length, [...text.normalize('NFKC')].length) >= 8, 'must be at least 8 characters')
  .refine((text) => new TextEncoder().encode(text.normalize('NFKC')).length <= 72, 'must be at most 72 bytes')
  .refine(
    (text) => [...text].length < 8 || !isCommonPassword(text),
    'must not be a common password: a well-known word, a row of the keyboard or a repetition',
  )
  .meta({ description: 'At least 8 characters, at most 72 bytes, no common password' })

/** The mail address of a user. Parents of two children may have one for both. */
export const UserEmail = Email

/** Generates a password: four groups of four, 80 bits, easy to type once. Spreadsheets never read it as a formula. */
export const generatePassword = (random: Random): string => (randomText(random, 16).match(/.{4}/g) ?? []).join('-')

/**
 * The localpart of a new user's chat id, in its only spelling: lower case. Synapse reserves names with a leading underscore and names of digits
 * alone.
 */
export const Localpart = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[a-z0-9.=/+-][a-z0-9._=/+-]*$/, 'must be lower-case letters, digits and . _ = / + -, not starting with _')
  .refine((name) => !/^[0-9]+$/.test(name), 'must not be digits alone: the chat server reserves such names')
  .refine((name) => name !== '.' && name !== '..', 'must not be dots alone: URLs cannot contain it')

/** The localpart of an existing user. Chat servers may have created names that the platform does not. */
export const KnownLocalpart = z.string().regex(/^[a-z0-9._=/+-]{1,255}$/, 'must be lower-case letters, digits and . _ = / + -')

/** The spelling in rows, counters and locks: the chat server treats `Alice` and `alice` as one user. */
export const canonicalLocalpart = (name: string): string => name.trim().toLowerCase()

export const matrixUserIdOf = (localpart: string, chatDomain: string): string => `@${localpart}:${chatDomain}`

/** The platform's own accounts in each box: application service, probe, administrator, automation user. */
const platformAccount = /^tenantry([-._].*)?$/

const authorityNames = new Set([
  'admin',
  'administrator',
  'root',
  'system',
  'support',
  'postmaster',
  'abuse',
  'security',
  'synapse',
  'server',
])

/** Accounts of the platform. They cannot be created and cannot log in. */
export const isPlatformAccount = (localpart: string): boolean => platformAccount.test(localpart)

/** Names that an import refuses: platform accounts, and names that suggest authority. */
export const isReserved = (localpart: string): boolean => isPlatformAccount(localpart) || authorityNames.has(localpart)

/** Longer names do not fit the index. */
const maxSearchLetters = 200

/** The text by which contacts are searched and ordered: display name, then localpart. */
export const searchNameOf = ({ displayName, localpart }: Readonly<{ displayName: string | null; localpart: string }>): string =>
  [displayName ?? localpart, localpart].map((name) => [...foldName(name)].slice(0, maxSearchLetters).join('')).join(' ')
