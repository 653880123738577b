import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import type { PasskeyCreation, PasskeyRequest } from '../../src/core/admin/index.ts'

// A browser with an authenticator, in software. `Lies` are what an attacker changes in its answers.

export type Lies = Readonly<{
  origin?: string
  rpId?: string
  challenge?: string
  type?: string
  isVerified?: boolean
  /** Of another passkey. */
  key?: KeyObject
  userHandle?: string
  counter?: number
  /** CBOR of the attestation; the default is none. */
  attestation?: readonly Buffer[]
}>

type Made = { id: string; key: KeyObject; userHandle: string; counter: number }

/** `counts`: it counts uses, as keys of hardware do. */
export function anAuthenticator(origin: string, { counts = false } = {}) {
  let made: Made | undefined
  const passkey = (): Made => {
    if (!made) throw new Error('no passkey was made')
    return made
  }
  const clientData = (type: string, challenge: string, lies: Lies) =>
    Buffer.from(
      JSON.stringify({
        type: lies.type ?? type,
        challenge: lies.challenge ?? challenge,
        origin: lies.origin ?? origin,
        crossOrigin: false,
      }),
    )
  const head = (rpId: string, flags: number, { rpId: lie, isVerified = true, counter }: Lies) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter ?? passkey().counter)
    return Buffer.concat([sha256(lie ?? rpId), Buffer.from([0x01 | (isVerified ? 0x04 : 0) | flags]), count])
  }
  return {
    passkey,
    create({ challenge, rp, user }: PasskeyCreation, lies: Lies = {}) {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const id = randomBytes(16)
      made = { id: id.toString('base64url'), key: privateKey, userHandle: user.id, counter: counts ? 1 : 0 }
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      const cose = map([
        ...[int(1), int(2), int(3), int(-7), int(-1), int(1)],
        ...[int(-2), bytes(Buffer.from(x, 'base64url')), int(-3), bytes(Buffer.from(y, 'base64url'))],
      ])
      const data = Buffer.concat([head(rp.id, 0x40, lies), Buffer.alloc(16), Buffer.from([0, id.length]), id, cose])
      const attestation = lies.attestation ?? [text('fmt'), text('none'), text('attStmt'), map([])]
      const object = map([...attestation, text('authData'), bytes(data)])
      return {
        id: made.id,
        clientDataJSON: clientData('webauthn.create', challenge, lies).toString('base64url'),
        attestationObject: object.toString('base64url'),
      }
    },
    get({ challenge, rpId }: PasskeyRequest, lies: Lies = {}) {
      const { id, key, userHandle } = passkey()
      if (counts) passkey().counter += 1
      const client = clientData('webauthn.get', challenge, lies)
      const data = head(rpId, 0, lies)
      const signature = createSign('sha256')
        .update(Buffer.concat([data, createHash('sha256').update(client).digest()]))
        .sign(lies.key ?? key)
      return {
        id,
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: lies.userHandle ?? userHandle,
      }
    },
  }
}

const sha256 = (plain: string) => createHash('sha256').update(plain).digest()

// The few forms of CBOR (RFC 8949) that these answers need.
function headOf(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  return length < 256 ? Buffer.from([(major << 5) | 24, length]) : Buffer.from([(major << 5) | 25, length >> 8, length & 0xff])
}
const int = (value: number) => (value < 0 ? headOf(1, -1 - value) : headOf(0, value))
export const bytes = (value: Buffer) => Buffer.concat([headOf(2, value.length), value])
export const text = (value: string) => Buffer.concat([headOf(3, Buffer.byteLength(value)), Buffer.from(value)])
export const list = (values: readonly Buffer[]) => Buffer.concat([headOf(4, values.length), ...values])
export const map = (pairs: readonly Buffer[]) => Buffer.concat([headOf(5, pairs.length / 2), ...pairs])
