import { backgroundHeader, consoleHeader, providerLoginMs } from '../../core/admin/index.ts'
import { isLoopback, problem } from '../../core/kit/index.ts'

type Headers = Readonly<Record<string, string | readonly string[] | undefined>> & Readonly<{ host?: string; cookie?: string }>

/** Rules for calls of the web console: whose cookie counts, and under which names the daemon answers. */
export type ConsoleAccess = ReturnType<typeof consoleAccess>

export function consoleAccess(baseUrl: string) {
  const own = new URL(baseUrl)
  const secure = own.protocol === 'https:'
  /** `__Host-`: only this host may have set it, over https. */
  const name = secure ? '__Host-tenantry' : 'tenantry-console'
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  /** What a browser keeps while its person is at the provider. */
  const loginName = secure ? '__Host-tenantry-login' : 'tenantry-console-login'
  return {
    loginCookie: (value: string) => `${loginName}=${value}; Max-Age=${providerLoginMs / 1000}; ${attributes}`,
    deletedLoginCookie: `${loginName}=; Max-Age=0; ${attributes}`,
    loginCookieOf: (cookies: string | undefined) => cookieNamed(cookies, loginName),
    cookie: (value: string) => `${name}=${value}; ${attributes}`,
    deletedCookie: `${name}=; Max-Age=0; ${attributes}`,

    /** The cookie of a call by the console's own page; undefined where it does not count. */
    cookieOf(headers: Headers): string | undefined {
      const value = isOwnPage(headers, own) ? cookieNamed(headers.cookie, name) : undefined
      if (value !== undefined && headers.authorization !== undefined)
        throw problem('VALIDATION', 'The call has a console cookie and the header Authorization. fix: send one of them')
      return value
    },

    /** Throws FORBIDDEN for another name of this daemon: a site whose name resolves to it must not reach it. */
    assertHost({ host }: Headers): void {
      const hostname = hostnameOf(host)
      if (hostname === own.hostname || (hostname !== undefined && isLoopback({ hostname }))) return
      throw problem('FORBIDDEN', `This daemon does not answer as ${host ?? 'a host without a name'}. fix: use ${own.origin}`)
    },

    /** Throws CONFIG: over plain http a cookie could be read on its way. */
    assertServed(): void {
      if (secure || isLoopback(own)) return
      throw problem('CONFIG', 'The web console needs https. fix: set TENANTRY_PUBLIC_URL to the https address of the daemon')
    },

    /** Throws FORBIDDEN: another site must not log a browser in. */
    assertOwnPage(headers: Headers): void {
      if (!isOwnPage(headers, own)) throw problem('FORBIDDEN', `Only the console's own page may do this. fix: open ${own.origin}/console`)
    },
  }
}

/** True for calls by a person, false for refreshes and streams. */
export const isAttended = (headers: Headers): boolean => headers[backgroundHeader] === undefined

/** No form and no page of another origin can send the header; `Sec-Fetch-Site` is set by the browser alone. */
function isOwnPage(headers: Headers, { origin }: URL): boolean {
  if (headers[consoleHeader] !== '1') return false
  const site = headers['sec-fetch-site']
  return site === undefined ? headers.origin === origin : site === 'same-origin'
}

function hostnameOf(host: string | undefined): string | undefined {
  return host !== undefined && URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : undefined
}

function cookieNamed(cookies: string | undefined, name: string): string | undefined {
  const found = cookies?.split(';').find((one) => one.trim().startsWith(`${name}=`))
  const value = found?.slice(found.indexOf('=') + 1).trim()
  return value ? value : undefined
}
