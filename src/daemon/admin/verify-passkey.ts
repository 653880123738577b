import type { PasskeyAssertion, PasskeyAttestation, RelyingParty } from '../../core/admin/index.ts'

// The only place that calls the library of WebAuthn. It is loaded on first use: with its parsers of certificates it takes 20 MB.

export type Verified<Result> = Result | Readonly<{ refusal: string }>
type PublicKey = Readonly<{ publicKey: string; signCount: number }>
type Expected = Readonly<{ party: RelyingParty; challenge: string }>

const expectedBy = ({ party, challenge }: Expected) => ({
  ...{ expectedChallenge: challenge, expectedOrigin: party.origin, expectedRPID: party.id, requireUserVerification: true },
})

/** A new passkey: origin, name of the installation, challenge, and that its person was verified. */
export async function verifyAttestation(
  expected: Expected,
  { id, clientDataJSON, attestationObject }: PasskeyAttestation,
): Promise<Verified<PublicKey & Readonly<{ credentialId: string }>>> {
  return refusalOf(async () => {
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
    await assertWithoutCertificates(attestationObject)
    const response = { ...credential(id), response: { clientDataJSON, attestationObject } }
    const { registrationInfo } = await verifyRegistrationResponse({ ...expectedBy(expected), response })
    if (!registrationInfo) throw new Error('the attestation does not hold')
    const { id: credentialId, publicKey, counter } = registrationInfo.credential
    if (credentialId !== id) throw new Error('the id is not that of the passkey')
    return { credentialId, publicKey: Buffer.from(publicKey).toString('base64url'), signCount: counter }
  })
}

/** None was asked for. The library would fetch the addresses of revocation lists that certificates name. */
async function assertWithoutCertificates(attestationObject: string): Promise<void> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject))
  const isPlain = ['none', 'packed'].includes(attestation.get('fmt')) && attestation.get('attStmt').get('x5c') === undefined
  if (!isPlain) throw new Error('the passkey has a certificate of its maker, which was not asked for')
}

/** A login: the same, the signature, the account, and a counter that grew where the authenticator counts. */
export async function verifyAssertion(
  expected: Expected,
  { id, userHandle, ...answer }: PasskeyAssertion,
  { publicKey, signCount, handle }: PublicKey & Readonly<{ handle: string }>,
): Promise<Verified<Readonly<{ signCount: number }>>> {
  return refusalOf(async () => {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...expectedBy(expected),
      response: { ...credential(id), response: { ...answer, userHandle } },
      credential: { id, publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')), counter: signCount },
    })
    if (!verified) throw new Error('the signature is wrong')
    if (userHandle !== handle) throw new Error('the passkey names another account')
    return { signCount: authenticationInfo.newCounter }
  })
}

const credential = (id: string) => ({ id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} })

/** The library throws what it refuses. Its messages repeat texts of the answer. */
async function refusalOf<Result>(verify: () => Promise<Result>): Promise<Verified<Result>> {
  try {
    return await verify()
  } catch (error) {
    return { refusal: (error instanceof Error ? error.message : String(error)).slice(0, 200) }
  }
}
