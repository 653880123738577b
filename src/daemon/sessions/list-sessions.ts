import { pageOf } from '../../core/contract/index.ts'
import { isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { canonicalLocalpart } from '../../core/users/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import { findUser } from '../users/index.ts'
import type { SessionsDeps } from './deps.ts'
import { type Position, sessionsBefore } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'rules'>
type Page = Readonly<{ limit: number; cursor?: string | undefined }>

/** The caller's open sessions. `current` marks the session of the request. */
export async function listOwnSessions(deps: Deps, { userId, sessionId }: PlatformPrincipal, page: Page) {
  const { sessions, ...rest } = await readPage(deps, { userId, ...page })
  return {
    sessions: sessions.map(({ endedAt: _, endedBy: __, ...session }) => ({ ...session, current: session.id === sessionId })),
    ...rest,
  }
}

type UserPage = Page & Readonly<{ slug: string; user: string; ended: boolean }>

/** The open or ended sessions of a user, for operators. Throws NOT_FOUND naming tenant or user. */
export async function listUserSessions(deps: Deps, { slug, user, ...page }: UserPage) {
  const { db } = deps
  const tenant = await tenantBySlug(db, slug)
  if (!tenant) throw problem('NOT_FOUND', `Tenant ${slug} does not exist. fix: \`tenantry tenants list\` lists tenants`)
  const found = await findUser(db, { tenantId: tenant.id, localpart: canonicalLocalpart(user) })
  if (!found) throw problem('NOT_FOUND', `User ${user} of ${slug} does not exist. fix: \`tenantry users list ${slug}\` lists users`)
  const { sessions, ...rest } = await readPage(deps, { userId: found.id, ...page })
  return { sessions: sessions.map((session) => ({ ...session, user: found.localpart })), ...rest }
}

type PageOfUser = Page & Readonly<{ userId: string; ended?: boolean }>

async function readPage({ db, clock, rules }: Deps, { userId, ended = false, limit, cursor }: PageOfUser) {
  const before = cursor === undefined ? undefined : readCursor(cursor)
  const found = await sessionsBefore(db, { userId, ended, before, now: isoNow(clock), limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ createdAt, id }) => `${createdAt}_${id}`)
  return { sessions: page, nextCursor, most: rules.mostPerUser }
}

function readCursor(cursor: string): Position {
  const [, createdAt, id] = /^([0-9TZ:.-]{20,30})_(ses_[0-9a-z]{20})$/.exec(cursor) ?? []
  if (createdAt && id) return { createdAt, id }
  throw problem('VALIDATION', 'cursor: must be the nextCursor of the previous page', {
    details: [{ path: 'cursor', reason: 'must be the nextCursor of the previous page' }],
  })
}
