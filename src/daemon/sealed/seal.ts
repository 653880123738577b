import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { problem, type Random, Secret, sha256Hex } from '../../core/kit/index.ts'

/** Where a sealed value lives; it opens nowhere else. */
export type SealedPlace = Readonly<{ table: string; row: string; column: string }>

type Key = Readonly<{ id: string; bytes: Buffer }>

/** Keys by age: the first seals, all open. */
export type Keyring = Readonly<{ keys: readonly Key[] }>

/** Makes a keyring of base64 keys of 32 bytes, newest first. */
export const keyring = (base64Keys: readonly string[]): Keyring => ({
  keys: base64Keys.map((text) => {
    const bytes = Buffer.from(text, 'base64')
    return { id: sha256Hex(bytes).slice(0, 8), bytes }
  }),
})

const subkey = (key: Key, { table, column }: SealedPlace) =>
  Buffer.from(hkdfSync('sha256', key.bytes, 'tenantry', `seal:${table}.${column}`, 32))
const associated = ({ table, row, column }: SealedPlace) => Buffer.from(`${table}/${row}/${column}`)

/** AES-256-GCM under the newest key; the text is `keyId.nonce.tag.cipher`, base64url. */
export function seal(
  { keyring: { keys }, random }: Readonly<{ keyring: Keyring; random: Random }>,
  place: SealedPlace,
  value: string | Secret,
): string {
  const key = keys[0] as Key
  const nonce = Buffer.from(random.bytes(12))
  const cipher = createCipheriv('aes-256-gcm', subkey(key, place), nonce).setAAD(associated(place))
  const sealed = Buffer.concat([cipher.update(value instanceof Secret ? value.reveal() : value, 'utf8'), cipher.final()])
  return [key.id, ...[nonce, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))].join('.')
}

/** Opens a sealed value; throws SEALED_UNREADABLE when its key is not in the ring or it was moved or changed. */
export function unseal({ keys }: Keyring, place: SealedPlace, text: string): Secret {
  const [keyId, ...parts] = text.split('.')
  const [nonce, tag, sealed] = parts.map((part) => Buffer.from(part, 'base64url'))
  const key = keys.find(({ id }) => id === keyId)
  const where = `${place.table}.${place.column} of ${place.row}`
  if (!key || !nonce || !tag || !sealed) {
    throw problem(
      'SEALED_UNREADABLE',
      `${where} was sealed with the key ${keyId}, which TENANTRY_SECRET_KEY does not contain. fix: add that key to the list`,
    )
  }
  try {
    const decipher = createDecipheriv('aes-256-gcm', subkey(key, place), nonce, { authTagLength: 16 })
      .setAAD(associated(place))
      .setAuthTag(tag)
    return new Secret(Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8'))
  } catch (error) {
    throw problem('SEALED_UNREADABLE', `${where} cannot be opened: it was changed or copied from another row`, { cause: error })
  }
}
