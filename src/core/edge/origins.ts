/** The host of an origin as browsers write that of a tenant's web chat: `https`, lower case, no port, no path. */
export const chatHostOf = (origin: string): string | undefined => /^https:\/\/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/.exec(origin)?.[1]

/** Spec 5.11. No page of the web has an origin with such a scheme: the web view of an app sends it. */
export const defaultNativeOrigins = ['capacitor://localhost', 'ionic://localhost'] as const

const nativeForm = /^([a-z][a-z0-9+.-]*):\/\/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(:[1-9][0-9]{0,4})?$/
/** Pages opened from a disk or created by a script have the origin `null`, which every page can send. */
const nobodys = new Set(['file', 'data', 'blob', 'about', 'javascript', 'filesystem'])

/** Why an app's origin cannot be allowed, such as `capacitor://localhost`. Undefined when it can. */
export function wrongNativeOrigin(text: string): string | undefined {
  if (text === '*' || text === 'null') return `must name one app; ${text} allows every page`
  const [, scheme = '', host] = nativeForm.exec(text) ?? []
  if (scheme === '') return 'must be as the app sends it, without a slash at the end: capacitor://localhost or https://app.example'
  if (nobodys.has(scheme)) return `must not begin with ${scheme}: such pages send the origin null, which every page can send`
  if (scheme === 'http' && host !== 'localhost')
    return 'must not begin with http, except http://localhost: an attacker in the network could answer in its place'
  return undefined
}

/** Response headers that scripts may read beside the CORS-safelisted ones. */
const exposed = [
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Slowdown', 'Retry-After', 'ETag', 'X-Request-Id'],
  ...['Content-Disposition', 'Content-Range', 'Accept-Ranges'],
]
const sent = [
  ...['Authorization', 'Content-Type', 'If-None-Match', 'Last-Event-ID', 'X-Developer-Id', 'X-Request-Id'],
  ...['Range', 'If-Range', 'If-Match', 'Idempotency-Key'],
]
/** A header of a module's own route. */
const ofModule = /^x-module-[a-z0-9-]{1,40}$/
const maxOfModule = 20

/** A preflight allows the headers of this API, and those for modules that it asks for. */
function allowedHeaders(asked: string): string {
  const names = asked.split(',').map((name) => name.trim().toLowerCase())
  return [...sent, ...names.filter((name) => ofModule.test(name)).slice(0, maxOfModule)].join(', ')
}

/** Never with credentials: platform tokens travel in a header that no page sends by itself. */
export const corsHeaders = {
  answer: (origin: string) => ({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed.join(', ') }),
  /** `asked`: the header Access-Control-Request-Headers. */
  preflight: (asked: string) => ({
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': allowedHeaders(asked),
    'access-control-max-age': '7200',
  }),
} as const
