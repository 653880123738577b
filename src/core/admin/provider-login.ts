import { type AdminRole, adminRoles } from '../contract/index.ts'

// Rules for logins by the company's account (OpenID Connect): which role its groups give, and what counts as a second factor.

/** Claims of an ID token and of the user information, as far as logins read them. */
export type ProviderClaims = Readonly<Record<string, unknown>>

/** Groups of the provider by the role that they give. */
export type RoleGroups = Readonly<Record<AdminRole, readonly string[]>>

/** Values of `acr` and `amr` that say that a second factor was used. */
export type SecondFactorValues = Readonly<{ acr: readonly string[]; amr: readonly string[] }>

/** The highest role that one of the groups gives; undefined if none does. */
export const roleOfGroups = (groups: readonly string[], roles: RoleGroups): AdminRole | undefined =>
  adminRoles.toReversed().find((role) => roles[role].some((group) => groups.includes(group)))

/** The texts of a claim: one, a list, or none. Any other value counts as none. */
export function textsOf(claim: unknown): readonly string[] {
  const values = Array.isArray(claim) ? claim : [claim]
  return values.filter((value): value is string => typeof value === 'string' && value !== '')
}

/** Whether the provider says that the person used a second factor. */
export const usedSecondFactor = ({ acr, amr }: ProviderClaims, accepted: SecondFactorValues): boolean =>
  textsOf(acr).some((value) => accepted.acr.includes(value)) || textsOf(amr).some((value) => accepted.amr.includes(value))

/** When the person proved who they are to the provider, in milliseconds; undefined where it does not say. */
export const provenAtMs = ({ auth_time: seconds }: ProviderClaims): number | undefined =>
  typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? Math.floor(seconds * 1000) : undefined

/** How long a person may take at the provider, and to approve the login of a command line. */
export const providerLoginMs = 10 * 60_000
