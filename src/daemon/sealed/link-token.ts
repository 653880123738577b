import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Keyring } from './seal.ts'

/** `purpose`: the use of a link of a mail. `text`: the name of its record. */
type Link = Readonly<{ purpose: string; text: string }>

/** The tokens of the newest key first. Nothing of them is stored. */
const tokensOf = ({ keys }: Keyring, { purpose, text }: Link): Buffer[] =>
  keys.map(({ bytes }) =>
    createHmac('sha256', Buffer.from(hkdfSync('sha256', bytes, 'tenantry', purpose, 32)))
      .update(text)
      .digest(),
  )

export const linkToken = (keyring: Keyring, link: Link): string => (tokensOf(keyring, link)[0] as Buffer).toString('base64url')

/** True if a mail about this link contained the token. */
export function isLinkToken(keyring: Keyring, { token, ...link }: Link & Readonly<{ token: string }>): boolean {
  const given = Buffer.from(token, 'base64url')
  return tokensOf(keyring, link).some((one) => one.length === given.length && timingSafeEqual(one, given))
}
