import { z } from 'zod'
import { adminRoles, Timestamp } from '../contract/index.ts'

/** The login name, stored in lower case; may be a mail address. */
const accountNameForm = /^[a-z0-9][a-z0-9._@+-]{1,63}$/
export const AccountName = z
  .string()
  .trim()
  .toLowerCase()
  .regex(accountNameForm, 'must be 2 to 64 letters, digits or . _ @ + -, beginning with a letter or digit')

/** Words that begin most guessed passwords. */
const commonWords =
  /^(?:pass(?:word|wort)?|kennwort|geheim|secret|admin(?:istrator)?|root|user|login|welcome|willkommen|hallo|hello|change ?me|let ?me ?in|qwert[yz]u?(?:iop)?|asdf(?:gh)?(?:jkl)?|iloveyou|tenantry|master|default|test(?:ing)?|abc(?:def)?|monkey|dragon|football|sommer|summer|winter)$/

/** A guesser tries these first: common words, digits, repetitions and sequences that make up the whole password. */
function isEasilyGuessed(password: string): boolean {
  const plain = password.toLowerCase()
  if (new Set(plain).size < 5) return true
  // One part, repeated.
  if (/^(.{1,8}?)\1+.{0,2}$/.test(plain)) return true
  const parts = plain.match(/[a-z]+|[0-9]+|[^a-z0-9]+/g) ?? []
  const isWeak = (part: string) =>
    /^[0-9]+$/.test(part)
      ? part.length <= 4 || isSequence(part) || '01234567890123456789'.includes(part)
      : !/[a-z]/.test(part) || isCommon(part) || isSequence(part)
  return parts.every((part) => isWeak(part) && part.length <= 24)
}

const isCommon = (letters: string): boolean => {
  for (let n = 1; n <= letters.length; n++)
    if (commonWords.test(letters.slice(0, n)) && (n === letters.length || isCommon(letters.slice(n)))) return true
  return false
}

/** Each character is the one after, before or equal to the previous one. */
const isSequence = (text: string): boolean => {
  const steps = [...text].slice(1).map((character, n) => character.charCodeAt(0) - text.charCodeAt(n))
  return steps.every((step) => step === steps[0] && Math.abs(step) <= 1)
}

/** The upper bound keeps hashing cheap. */
export const NewPassword = z
  .string()
  .min(12, 'must have at least 12 characters')
  .max(256, 'must have at most 256 characters')
  .refine((password) => !isEasilyGuessed(password), 'is easily guessed: use several words, or a password manager')

export const AccountId = z.string().regex(/^acc_[0-9a-z]{20}$/, 'must be an account id')
export const SessionId = z.string().regex(/^ses_[0-9a-z]{20}$/, 'must be a session id')
export const TokenId = z.string().regex(/^tok_[0-9a-z]{20}$/, 'must be a token id (see `tenantry tokens list`)')

export const AdminRoleName = z.enum(adminRoles)

/** A step that a session must complete before any other call. */
export const SetupStep = z.enum(['password', 'totp'])
export type SetupStep = z.output<typeof SetupStep>

export const Password = z.string().min(1).max(256)
/** A TOTP code of six digits, or a recovery code. */
export const Code = z.string().trim().min(6).max(64)
export const LoginBody = z.strictObject({ name: z.string().min(1).max(100), password: Password, totp: Code.optional() })

/** By name and password, or by the company account. */
export const LoginWay = z.enum(['password', 'provider']).meta({ description: 'By name and password, or by the company account' })

export const Account = z.object({
  id: AccountId,
  name: z.string(),
  role: AdminRoleName,
  status: z.enum(['active', 'disabled']),
  login: LoginWay,
  totp: z.boolean().meta({ description: 'TOTP is enabled' }),
  mustChangePassword: z.boolean(),
  initialPasswordExpiresAt: Timestamp.nullable(),
  lockedUntil: Timestamp.nullable(),
  lastLoginAt: Timestamp.nullable(),
  createdAt: Timestamp,
  createdBy: z.string(),
})
export type Account = z.output<typeof Account>

export const Session = z.object({
  id: SessionId,
  accountId: AccountId,
  accountName: z.string(),
  address: z.string(),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  kind: z.enum(['token', 'console']).meta({ description: 'Of the CLI and scripts, or of the web console' }),
  lastUsedAt: Timestamp.nullable().meta({ description: 'Of the web console: it ends an hour later' }),
  current: z.boolean(),
})

export const ApiToken = z.object({
  id: TokenId,
  name: z.string(),
  role: z.enum(['viewer', 'reviewer', 'operator']),
  prefix: z.string().meta({ description: 'The first characters of the token, to identify it' }),
  createdBy: z.string(),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  lastUsedAt: Timestamp.nullable(),
})
export type ApiToken = z.output<typeof ApiToken>
