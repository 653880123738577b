import type { PasskeyAssertion, PasskeyAttestation, PasskeyCreation, PasskeyRequest } from '../../core/admin/index.ts'
import { problem } from '../../core/kit/index.ts'

// WebAuthn in the browser: bytes are base64url in the API, and buffers here.

export const arePasskeysSupported = (): boolean => 'PublicKeyCredential' in window

/** Makes a passkey on a device of the person. Throws ALREADY_EXISTS, LOGIN_FAILED. */
export async function createPasskey(creation: PasskeyCreation): Promise<PasskeyAttestation> {
  const publicKey = {
    ...creation,
    challenge: bytesOf(creation.challenge),
    user: { ...creation.user, id: bytesOf(creation.user.id) },
    excludeCredentials: creation.excludeCredentials.map((one) => ({ ...one, id: bytesOf(one.id) })),
  }
  const { id, response } = await answered(() => navigator.credentials.create({ publicKey }))
  const { clientDataJSON, attestationObject } = response as AuthenticatorAttestationResponse
  return { id, clientDataJSON: textOf(clientDataJSON), attestationObject: textOf(attestationObject) }
}

/** Asks for any passkey of this installation. Throws LOGIN_FAILED. */
export async function getPasskey(request: PasskeyRequest): Promise<PasskeyAssertion> {
  const publicKey = { ...request, challenge: bytesOf(request.challenge) }
  const { id, response } = await answered(() => navigator.credentials.get({ publicKey }))
  const { clientDataJSON, authenticatorData, signature, userHandle } = response as AuthenticatorAssertionResponse
  const texts = { clientDataJSON: textOf(clientDataJSON), authenticatorData: textOf(authenticatorData), signature: textOf(signature) }
  return { id, ...texts, userHandle: textOf(userHandle ?? new ArrayBuffer(0)) }
}

/** Browsers give no reason, except for a device that has a passkey of the account already. */
async function answered(ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const credential = await ask()
    if (credential) return credential as PublicKeyCredential
  } catch (error) {
    const { name, message } = error as DOMException
    if (name === 'InvalidStateError') throw problem('ALREADY_EXISTS', 'This device has a passkey of this account already.')
    if (name !== 'NotAllowedError') throw problem('LOGIN_FAILED', `The browser refused the passkey: ${message}`)
  }
  throw problem('LOGIN_FAILED', 'The browser got no passkey: it was cancelled, or took too long. fix: try again')
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

const textOf = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
