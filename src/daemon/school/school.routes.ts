import { backgroundHeader } from '../../core/admin/index.ts'
import { brandingOf } from '../../core/branding/index.ts'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { type SchoolSession, schoolContract, schoolHeader, schoolIdleMs } from '../../core/school/index.ts'
import { rolesBeyond } from '../../core/users/index.ts'
import { assertPageCall, pageHeaders, serveContract } from '../http/index.ts'
import { login, revokeOwnSession } from '../sessions/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { findUserById } from '../users/index.ts'
import type { SchoolDeps } from './deps.ts'

/** As it is listed among the sessions of the user. */
const deviceName = 'School page'

export const schoolRoutes = (deps: SchoolDeps) =>
  serveContract(schoolContract, {
    openSchool: async ({ body, address, signal, header, setCookie, setTenant, setCaller }) => {
      assertPageCall(deps.school, pageHeaders(header, schoolHeader))
      const input = { ...body, deviceName, issueRefreshToken: false, chat: false, address, signal, setTenant, setCaller }
      const { token, passwordChangeRequired = false } = await login(deps, input)
      setCookie(deps.school.cookie(token, schoolIdleMs))
      return { passwordChangeRequired }
    },
    showSchool: async ({ actor, header, setCookie }) => {
      const token = deps.school.cookieOf(pageHeaders(header, schoolHeader))
      const shown = await showSession(deps, actor)
      if (token !== undefined && header(backgroundHeader) === undefined) setCookie(deps.school.cookie(token, schoolIdleMs))
      return shown
    },
    closeSchool: async ({ actor, header, setCookie }) => {
      assertPageCall(deps.school, pageHeaders(header, schoolHeader))
      await revokeOwnSession(deps, actor, { id: actor.sessionId })
      setCookie(deps.school.deletedCookie)
      return undefined
    },
  })

type Deps = Pick<SchoolDeps, 'db' | 'roles'>

/** The user of the page, and which roles it gives out. */
async function showSession({ db, roles: book }: Deps, actor: PlatformPrincipal): Promise<SchoolSession> {
  const { slug, name, branding } = await existingTenant(db, actor.tenantSlug)
  const user = await findUserById(db, actor.userId)
  if (!user) throw new Error(`session of ${actor.userId}, who does not exist`)
  const beyond = rolesBeyond(book, actor.capabilities, Object.keys(book.roles))
  return {
    tenant: { slug, name },
    branding: brandingOf(branding),
    user: {
      ...{ userId: user.id, username: user.localpart, displayName: user.displayName, locale: user.locale },
      roles: [...user.roles],
    },
    capabilities: [...actor.capabilities],
    roles: Object.entries(book.roles).map(([role, { title = role }]) => ({ name: role, title, isGrantable: !beyond.includes(role) })),
    passwordChangeRequired: user.hasInitialPassword,
  }
}
