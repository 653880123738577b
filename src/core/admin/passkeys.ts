import { addressBytes } from '../kit/index.ts'

// Rules of passkeys (WebAuthn): where they can be used, and what browsers are asked for.

export const maxPasskeys = 10
/** How long a person may take to answer the browser. */
export const passkeyMs = 5 * 60_000

/** The name and the origin that passkeys of this installation belong to. */
export type RelyingParty = Readonly<{ id: string; origin: string }>

/** Undefined where browsers allow no passkeys: at a network address without a name, and without https except on `localhost`. */
export function relyingPartyOf(baseUrl: string): RelyingParty | undefined {
  const { hostname, origin, protocol } = new URL(baseUrl)
  if (hostname.startsWith('[') || addressBytes(hostname)) return undefined
  return protocol === 'https:' || hostname === 'localhost' ? { id: hostname, origin } : undefined
}

/** COSE numbers of EdDSA, ES256 and RS256, in the order of preference. */
const algorithms = [-8, -7, -257] as const

type Creation = Readonly<{
  party: RelyingParty
  challenge: string
  /** `handle`: the id of the account in base64url, which the browser gives back at a login. */
  account: Readonly<{ handle: string; name: string }>
  /** The ids of its passkeys: a device that has one makes no second. */
  existing: readonly string[]
}>

/** The browser finds such a passkey without a name, and unlocks it with PIN, finger or face. What made it is not asked for. */
export const passkeyCreation = ({ party, challenge, account: { handle, name }, existing }: Creation) => ({
  challenge,
  rp: { id: party.id, name: 'Tenantry' },
  user: { id: handle, name, displayName: name },
  pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg: alg as number })),
  timeout: passkeyMs,
  excludeCredentials: existing.map((id) => ({ type: 'public-key' as const, id })),
  authenticatorSelection: { residentKey: 'required' as const, requireResidentKey: true, userVerification: 'required' as const },
  attestation: 'none' as const,
})

/** Any passkey of this installation, unlocked with PIN, finger or face. */
export const passkeyRequest = (party: RelyingParty, challenge: string) => ({
  challenge,
  rpId: party.id,
  timeout: passkeyMs,
  userVerification: 'required' as const,
})
