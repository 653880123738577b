import { z } from 'zod'
import { isLoopback, secret } from '../../core/kit/index.ts'

// Settings of the provider at which operators log in with their company's account (OpenID Connect).

const Texts = z.union([
  z.array(z.string().min(1)),
  z.string().transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  ),
])

/** Encrypted unless it is this machine: the keys of the provider are read from it. */
const Issuer = z.url({ protocol: /^https?$/ }).refine((text) => {
  const url = new URL(text)
  return url.protocol === 'https:' || isLoopback(url)
}, 'must begin with https:, unless it is on loopback')

const fields = {
  issuer: Issuer.optional(),
  clientId: z.string().min(1).max(300).optional(),
  clientSecret: z.string().min(1).max(1000).transform(secret).optional(),
  /** Its name on the button of the login page. */
  name: z.string().trim().min(1).max(40, 'must have at most 40 characters').default('company account'),
  scopes: Texts.default(['openid', 'profile', 'email']),
  /** The claim that is the name of the account. */
  nameClaim: z.string().min(1).default('email'),
  /** The claim with the groups of the person, in the ID token or the user information. */
  groupsClaim: z.string().min(1).default('groups'),
  /** Groups by the role that they give; the highest counts. A person with none of them cannot log in. */
  roles: z
    .strictObject({ viewer: Texts.default([]), reviewer: Texts.default([]), operator: Texts.default([]), admin: Texts.default([]) })
    .prefault({}),
  /** Values of `acr` and `amr` that say that a second factor was used. */
  secondFactor: z.strictObject({ acr: Texts.default([]), amr: Texts.default(['mfa', 'otp', 'hwk']) }).prefault({}),
}

/** Login of operators at a provider. Without `issuer` there is none. */
export const Oidc = z.strictObject(fields).superRefine(({ issuer, clientId, scopes, roles }, { addIssue }) => {
  if (issuer === undefined) return
  const wrong = (path: string, message: string) => addIssue({ code: 'custom', path: [path], message })
  if (clientId === undefined) wrong('clientId', 'must be set where issuer is')
  if (!scopes.includes('openid')) wrong('scopes', 'must contain openid')
  if (Object.values(roles).every((groups) => groups.length === 0)) wrong('roles', 'must name a group for at least one role')
})
