import { backgroundHeader } from '../../core/admin/index.ts'
import { schoolContract, schoolHeader, schoolIdleMs } from '../../core/school/index.ts'
import { pageHeaders, serveContract } from '../http/index.ts'
import { login, revokeOwnSession } from '../sessions/index.ts'
import type { SchoolDeps } from './deps.ts'
import { showSession } from './show-session.ts'

type Header = (name: string) => string | undefined

function assertSchoolPage({ school }: SchoolDeps, header: Header): void {
  const headers = pageHeaders(header, schoolHeader)
  school.assertServed()
  school.assertHost(headers)
  school.assertOwnPage(headers)
}

/** As it is listed among the sessions of the user. */
const deviceName = 'School page'

export const schoolRoutes = (deps: SchoolDeps) =>
  serveContract(schoolContract, {
    openSchool: async ({ body, address, signal, header, setCookie, setTenant, setCaller }) => {
      assertSchoolPage(deps, header)
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
      assertSchoolPage(deps, header)
      await revokeOwnSession(deps, actor, { id: actor.sessionId })
      setCookie(deps.school.deletedCookie)
      return undefined
    },
  })
