import { problem } from '../../core/kit/index.ts'
import { isLinkToken, type Keyring, linkToken } from '../sealed/index.ts'

type Purpose = 'confirm' | 'repeat'
type Named = Readonly<{ id: string; round: number }>

/** The token names a submission, what it is for, and which sending it belongs to. */
const linkOf = (purpose: Purpose, { id, round }: Named) => ({ purpose: `marketplace-${purpose}`, text: `${id}\n${round}` })

type Deps = Readonly<{ keyring: Keyring; baseUrl: string }>

/** Addresses in the mails about a submission. An address stays proven, so its link names no sending. */
export function linksOf({ keyring, baseUrl }: Deps, named: Named) {
  const url = `${baseUrl}/api/public/marketplace/submissions/${named.id}`
  const token = (purpose: Purpose) => linkToken(keyring, linkOf(purpose, purpose === 'confirm' ? { ...named, round: 0 } : named))
  return {
    statusUrl: `${url}/status`,
    confirmUrl: `${url}/confirm?token=${token('confirm')}`,
    repeatUrl: `${url}?token=${token('repeat')}`,
  }
}

/** Throws FORBIDDEN unless a mail about this sending contained the token. */
export function assertToken(keyring: Keyring, one: Named & Readonly<{ purpose: Purpose; token: string }>): void {
  if (isLinkToken(keyring, { ...linkOf(one.purpose, one), token: one.token })) return
  throw problem('FORBIDDEN', `The token for submission ${one.id} is wrong or no longer valid. fix: use the link of the newest mail`)
}
