import { isLoopback, problem } from '../../core/kit/index.ts'

type Headers = Readonly<Record<string, string | readonly string[] | undefined>> & Readonly<{ host?: string; cookie?: string }>

/** A page that the daemon serves with a cookie of its own. */
type Page = Readonly<{
  /** As in `The console`. */
  name: string
  path: string
  /** By which the page marks its calls. */
  header: string
  cookie: CookieNames
}>

/** Over https it has the prefix `__Host-`: only this host may have set it. */
type CookieNames = Readonly<{ secure: `__Host-${string}`; plain: string }>

/** Rules for calls of such a page: whose cookie counts, and under which names the daemon answers. */
export type PageAccess = ReturnType<typeof pageAccess>

export function pageAccess(baseUrl: string, { name, path, header, cookie: names }: Page) {
  const own = new URL(baseUrl)
  const secure = own.protocol === 'https:'
  const session = pageCookie(baseUrl, names)
  const isOwnPage = (headers: Headers): boolean => isCallOf(headers, header, own)
  return {
    cookie: session.set,
    deletedCookie: session.deleted,

    /** The cookie of a call by the own page; undefined where it does not count. */
    cookieOf(headers: Headers): string | undefined {
      const value = isOwnPage(headers) ? session.of(headers.cookie) : undefined
      if (value !== undefined && headers.authorization !== undefined)
        throw problem('VALIDATION', `The call has a cookie of the ${name} and the header Authorization. fix: send one of them`)
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
      throw problem('CONFIG', `The ${name} needs https. fix: set TENANTRY_PUBLIC_URL to the https address of the daemon`)
    },

    /** Throws FORBIDDEN: another site must not log a browser in. */
    assertOwnPage(headers: Headers): void {
      if (!isOwnPage(headers)) throw problem('FORBIDDEN', `Only the own page of the ${name} may do this. fix: open ${own.origin}${path}`)
    },
  }
}

/** The token in the cookie of a call by the page. Throws VALIDATION beside another credential, FORBIDDEN, CONFIG. */
export const pageToken =
  (access: PageAccess) =>
  (headers: Headers): string | undefined => {
    const token = access.cookieOf(headers)
    if (token === undefined) return undefined
    access.assertServed()
    access.assertHost(headers)
    return token
  }

/** A call that sets or deletes the cookie. Throws FORBIDDEN, CONFIG. */
export function assertPageCall(access: PageAccess, headers: Headers): void {
  access.assertServed()
  access.assertHost(headers)
  access.assertOwnPage(headers)
}

/** A cookie that no script reads and no other site sends. */
export function pageCookie(baseUrl: string, names: CookieNames) {
  const secure = new URL(baseUrl).protocol === 'https:'
  const name = secure ? names.secure : names.plain
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  return {
    /** `maxAgeMs`: the browser forgets it then; absent: with its window. */
    set: (value: string, maxAgeMs?: number) =>
      `${name}=${value}; ${attributes}${maxAgeMs === undefined ? '' : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`}`,
    deleted: `${name}=; Max-Age=0; ${attributes}`,
    of: (cookies: string | undefined) => cookieNamed(cookies, name),
  }
}

/** No form and no page of another origin can send the header; `Sec-Fetch-Site` is set by the browser alone. */
function isCallOf(headers: Headers, header: string, { origin }: URL): boolean {
  if (headers[header] !== '1') return false
  const site = headers['sec-fetch-site']
  return site === undefined ? headers.origin === origin : site === 'same-origin'
}

/** The headers by which the rules decide, of a handler's call. */
export const pageHeaders = (header: (name: string) => string | undefined, own: string): Headers =>
  Object.fromEntries(['host', 'origin', 'sec-fetch-site', 'cookie', 'authorization', own].map((name) => [name, header(name)]))

function hostnameOf(host: string | undefined): string | undefined {
  return host !== undefined && URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : undefined
}

function cookieNamed(cookies: string | undefined, name: string): string | undefined {
  const found = cookies?.split(';').find((one) => one.trim().startsWith(`${name}=`))
  const value = found?.slice(found.indexOf('=') + 1).trim()
  return value ? value : undefined
}
