import type { IncomingHttpHeaders } from 'node:http'
import type { AdminAccess } from '../../core/contract/index.ts'
import type { AdminActor } from '../../core/kit/index.ts'
import { authenticateCookie } from './authenticate-admin.ts'
import { type ConsoleAccess, isAttended } from './console-access.ts'

type Deps = Parameters<typeof authenticateCookie>[0] & Readonly<{ console: ConsoleAccess }>

/**
 * The admin of a call by the console's page; undefined for a call without its cookie. Refuses names that are not the daemon's for every call of
 * the admin API. Throws FORBIDDEN, CONFIG, VALIDATION, UNAUTHENTICATED, SETUP_REQUIRED.
 */
export function authenticateConsole(deps: Deps) {
  const ofCookie = authenticateCookie(deps)
  return async (headers: IncomingHttpHeaders, access: AdminAccess): Promise<AdminActor | undefined> => {
    deps.console.assertHost(headers)
    const cookie = deps.console.cookieOf(headers)
    if (cookie === undefined) return undefined
    deps.console.assertServed()
    return ofCookie(cookie, { ...access, attended: isAttended(headers) })
  }
}
