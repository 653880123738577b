import type { ModuleResponse } from './response.ts'

/** Shown by a browser as what they are. SVG is a document with scripts, so it is downloaded. */
const inlineTypes = /^(?:application\/json|text\/plain|text\/csv|image\/(?!svg)[a-z0-9.+-]{1,40})(?:;\s*charset=[A-Za-z0-9-]{1,40})?$/

const passed = /^(?:etag|cache-control|x-module-[a-z0-9-]{1,40})$/
/** A line break in a value would begin a header of the module's own. */
const isPlain = (value: string): boolean => /^[\x20-\x7e]*$/.test(value)
/** Their answers have no body, or are about the connection. */
const withoutBody = new Set([204, 205, 304])

type RouteResponse = Readonly<{ status: number; headers: Readonly<Record<string, string>>; body: string }>

/**
 * The answer of a module as it is sent: status, content type, `etag`, `cache-control` and `x-module-*`, all else is dropped. A page of the module
 * is never shown as one of the platform: other types are downloads, and every answer has a policy that runs nothing.
 */
export function routeResponse({ status, headers, body }: ModuleResponse): RouteResponse {
  const type = headers['content-type'] ?? (typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json')
  const isInline = inlineTypes.test(type)
  const kept = Object.entries(headers).filter(([name, value]) => passed.test(name) && isPlain(value))
  return {
    status,
    headers: {
      'cache-control': 'no-store',
      ...Object.fromEntries(kept),
      'content-type': isInline ? type : 'application/octet-stream',
      ...(isInline ? {} : { 'content-disposition': 'attachment' }),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
    },
    body: withoutBody.has(status) ? '' : bodyOf(body, type),
  }
}

const bodyOf = (body: unknown, type: string): string =>
  typeof body === 'string' && !type.startsWith('application/json') ? body : JSON.stringify(body)
