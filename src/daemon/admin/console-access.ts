import type { IncomingHttpHeaders } from 'node:http'
import { backgroundHeader, consoleHeader, passkeyMs, providerLoginMs } from '../../core/admin/index.ts'
import { pageAccess, pageCookie } from '../http/index.ts'

export type ConsoleAccess = ReturnType<typeof consoleAccess>

/** Rules for calls of the web console; and the cookies that a browser keeps while its person is at the provider, or unlocks a passkey. */
export function consoleAccess(baseUrl: string) {
  const login = pageCookie(baseUrl, { secure: '__Host-tenantry-login', plain: 'tenantry-console-login' })
  const passkey = pageCookie(baseUrl, { secure: '__Host-tenantry-passkey', plain: 'tenantry-console-passkey' })
  const access = pageAccess(baseUrl, {
    ...{ name: 'web console', path: '/console', header: consoleHeader },
    cookie: { secure: '__Host-tenantry', plain: 'tenantry-console' },
  })
  return {
    ...access,
    loginCookie: (value: string) => login.set(value, providerLoginMs),
    deletedLoginCookie: login.deleted,
    loginCookieOf: login.of,
    passkeyCookie: (value: string) => passkey.set(value, passkeyMs),
    deletedPasskeyCookie: passkey.deleted,
    passkeyCookieOf: passkey.of,
  }
}

/** True for calls by a person, false for refreshes and streams. */
export const isAttended = (headers: IncomingHttpHeaders): boolean => headers[backgroundHeader] === undefined
