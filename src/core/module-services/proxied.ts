import { problem } from '../kit/index.ts'

export const proxyTimeoutMs = 30_000
/** Bytes of a request body, and of an answer. */
export const maxBodyBytes = 10 * 1_048_576

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * The path behind the `apiPrefix` of a module, as it is sent to the service. `rest`: not decoded; empty, or it begins with a slash. Throws
 * VALIDATION for a path that a server may read as another one: dot segments, encoded slashes, empty segments.
 */
export function servicePath(rest: string): string {
  const reason = rest === '' ? undefined : whyInvalid(rest.slice(1))
  if (reason) throw problem('VALIDATION', `The path ${reason}.`, { details: [{ path: 'rest', reason }] })
  return rest
}

function whyInvalid(rest: string): string | undefined {
  if (/%2f|%5c|\\/i.test(rest)) return 'must not contain an encoded slash or a backslash'
  if (/%[01][0-9a-f]|%7f/i.test(rest)) return 'must not contain a control character'
  const parts = rest.split('/')
  // One empty part at the end is a trailing slash.
  if (parts.slice(0, -1).includes('')) return 'must not contain an empty part (//)'
  if (parts.some((part) => /^\.{1,2}(;|$)/.test(part.replace(/%2e/gi, '.')))) return 'must not contain the part . or ..'
  return undefined
}

/** They belong to one connection (RFC 9110, 7.6.1), and the framing of a message is that of its sender. */
const hopByHop = [
  'content-length',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Credentials, addresses of callers, other paths and methods than those of the request, and what the platform sets itself. */
const dropped = [
  'authorization',
  'cookie',
  'host',
  'expect',
  'forwarded',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'via',
  'accept-encoding',
  'x-developer-id',
  'x-automation-key',
  'x-request-id',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
]

const named = (connection: string | readonly string[] | undefined): readonly string[] =>
  String(connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())

/** The headers of a request that reach the service, and `ours`, without the framing. */
export function forwardedHeaders(incoming: Headers, ours: Readonly<Record<string, string>>): Record<string, string | string[]> {
  const omitted = new Set([...hopByHop, ...dropped, ...named(incoming.connection)])
  // Servers that keep headers in variables (CGI, WSGI) read an underscore as a hyphen.
  const passes = (given: string) => {
    const name = given.replaceAll('_', '-')
    return !omitted.has(name) && !/^(?:x-forwarded-|x-tenantry-|sec-|origin$|referer$)/.test(name)
  }
  const entries = Object.entries(incoming).flatMap(([name, value]) =>
    value !== undefined && passes(name) ? [[name, typeof value === 'string' ? value : [...value]] as const] : [],
  )
  return { ...Object.fromEntries(entries), 'accept-encoding': 'identity', ...ours }
}

type Framing = Readonly<{ 'content-length'?: string; 'transfer-encoding'?: 'chunked' }>

/**
 * How the body of a request is sent on: each request says where it ends, whatever its method. Throws VALIDATION for a body of GET or HEAD: servers
 * disagree on whether to read it, and one that does not takes it for the next request.
 */
export function bodyFraming(method: string, incoming: Headers): Framing {
  const isChunked = incoming['transfer-encoding'] !== undefined
  const length = Number(incoming['content-length'] ?? 0)
  if (method !== 'GET' && method !== 'HEAD') return isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }
  if (isChunked || length > 0) throw problem('VALIDATION', `A ${method} request to a module has no body. fix: send it with POST`)
  return {}
}

/** 304 answers a question about a tag. */
export const isRedirect = (status: number): boolean => status >= 300 && status < 400 && status !== 304
