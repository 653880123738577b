import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { problem } from '../../core/kit/index.ts'
import type { Keyring } from '../sealed/index.ts'

type Purpose = 'confirm' | 'repeat'
type Named = Readonly<{ id: string; round: number }>

/** Tokens of mails: they name a submission, what they are for, and which sending they belong to. Nothing of them is stored. */
const tokensOf = ({ keys }: Keyring, purpose: Purpose, { id, round }: Named): Buffer[] =>
  keys.map(({ bytes }) =>
    createHmac('sha256', Buffer.from(hkdfSync('sha256', bytes, 'tenantry', `marketplace-${purpose}`, 32)))
      .update(`${id}\n${round}`)
      .digest(),
  )

type Deps = Readonly<{ keyring: Keyring; baseUrl: string }>

/** Addresses in the mails about a submission. An address stays proven, so its link names no sending. */
export function linksOf({ keyring, baseUrl }: Deps, named: Named) {
  const url = `${baseUrl}/api/public/marketplace/submissions/${named.id}`
  const token = (purpose: Purpose) =>
    tokensOf(keyring, purpose, purpose === 'confirm' ? { ...named, round: 0 } : named)[0]?.toString('base64url')
  return {
    statusUrl: `${url}/status`,
    confirmUrl: `${url}/confirm?token=${token('confirm')}`,
    repeatUrl: `${url}?token=${token('repeat')}`,
  }
}

/** Throws FORBIDDEN unless a mail about this sending contained the token. */
export function assertToken(keyring: Keyring, one: Named & Readonly<{ purpose: Purpose; token: string }>): void {
  const given = Buffer.from(one.token, 'base64url')
  if (tokensOf(keyring, one.purpose, one).some((token) => token.length === given.length && timingSafeEqual(token, given))) return
  throw problem('FORBIDDEN', `The token for submission ${one.id} is wrong or no longer valid. fix: use the link of the newest mail`)
}
