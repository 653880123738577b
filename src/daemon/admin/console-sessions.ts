import { type AdminActor, isoIn, isoNow, newId, problem, sha256Hex } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { accountByName } from './accounts.repo.ts'
import type { AdminDeps, LoginLinks } from './deps.ts'
import { type Login, openSession, shown } from './login.ts'
import { addSession, sessionExpiry } from './sessions.ts'
import { tokenHash } from './tokens.ts'

type Deps = Omit<AdminDeps, 'keys' | 'revocations'>

/** 32 random bytes, of which only the hash is stored. Every login makes another one. */
const makeCookie = ({ random }: Deps): string => Buffer.from(random.bytes(32)).toString('base64url')

/** Opens a session of the web console. Throws as `login`. */
export async function openConsole(deps: Deps, input: Login) {
  const cookie = makeCookie(deps)
  const { account } = await openSession(deps, { ...input, cookieHash: tokenHash(cookie) })
  return { cookie, opened: { expiresAt: sessionExpiry(deps.clock), ...shown(account, deps.totpRequired) } }
}

type LinkDeps = Deps & Readonly<{ loginLinks?: LoginLinks | undefined }>

/** Opens a session by the one-time link of a demo. Throws LOGIN_FAILED. */
export async function openConsoleByLink(deps: LinkDeps, { token, address }: Readonly<{ token: string; address: string }>) {
  const name = deps.loginLinks?.take(token)
  const account = name === undefined ? undefined : await accountByName(deps.db, name)
  if (!account?.active) throw problem('LOGIN_FAILED', 'The login link is used, expired or unknown. fix: log in with name and password')
  const cookie = makeCookie(deps)
  const sessionId = newId(deps.random, 'ses')
  await deps.db.transaction().execute(async (tx) => {
    await addSession(tx, deps.clock, { id: sessionId, accountId: account.id, address, cookieHash: tokenHash(cookie), provenAt: null })
    const actor: AdminActor = { kind: 'admin', accountId: account.id, name: account.name, role: account.role, sessionId }
    await recordAudit(tx, deps.clock, { actor, action: 'session.opened', subject: sessionId, data: { address, link: true } })
  })
  return { cookie, opened: { expiresAt: sessionExpiry(deps.clock), ...shown(account, deps.totpRequired) } }
}

const linkMs = 10 * 60_000

export function makeLoginLinks({ clock, random }: Pick<AdminDeps, 'clock' | 'random'>): LoginLinks {
  const links = new Map<string, { accountName: string; until: string }>()
  return {
    make(accountName) {
      const token = Buffer.from(random.bytes(32)).toString('base64url')
      links.set(sha256Hex(token), { accountName, until: isoIn(clock, linkMs) })
      return token
    },
    take(token) {
      const hash = sha256Hex(token)
      const link = links.get(hash)
      links.delete(hash)
      return link && link.until > isoNow(clock) ? link.accountName : undefined
    },
  }
}
