import { z } from 'zod'

/**
 * A user's name before the colon of the chat id, as the platform makes them: what Synapse accepts of everybody. A leading underscore and
 * names of digits alone it keeps for itself. It has one spelling: lower case.
 */
export const Localpart = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[a-z0-9.=/+-][a-z0-9._=/+-]*$/, 'must be lower-case letters, digits and . _ = / + -, not starting with _')
  .refine((name) => !/^[0-9]+$/.test(name), 'must not be digits alone: the chat server keeps such names for itself')
  .refine((name) => name !== '.' && name !== '..', 'must not be dots alone: it could be in no address')

/** One that may be there already: chat servers made others than the platform does, and who logs in with one must be shown and shut out too. */
export const KnownLocalpart = z.string().regex(/^[a-z0-9._=/+-]{1,255}$/, 'must be lower-case letters, digits and . _ = / + -')

/** The spelling that rows, counters and locks go by: `Alice` and `alice` are one user to the chat server. */
export const canonicalLocalpart = (name: string): string => name.trim().toLowerCase()

export const matrixUserIdOf = (localpart: string, chatDomain: string): string => `@${localpart}:${chatDomain}`

/** The platform's own accounts in each box: its application service, its probe, its administrator, its automation user. */
const ownAccounts = /^tenantry([-._].*)?$/

const keptNames = new Set(['admin', 'administrator', 'root', 'system', 'support', 'postmaster', 'abuse', 'security', 'synapse', 'server'])

/** Names that belong to the platform: nobody logs in as one, and none is made. */
export const isOwnAccount = (localpart: string): boolean => ownAccounts.test(localpart)

/** Names that an import makes for nobody: the platform's own, and those that others would take for somebody in charge. */
export const isReserved = (localpart: string): boolean => isOwnAccount(localpart) || keptNames.has(localpart)
