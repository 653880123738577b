import type { RequestHandler } from 'express'
import { chatHostOf, corsHeaders } from '../../core/edge/index.ts'

type Deps = Readonly<{
  nativeOrigins: readonly string[]
  isChatHost: (host: string) => Promise<boolean>
  failed: (error: unknown) => void
}>

/**
 * Lets web pages of tenants' chat domains and the configured apps read answers, by exact match of the origin. An answer to any other origin says
 * nothing of it, and neither does one while the tenants cannot be read. Preflights of those allowed end here.
 */
export function crossOrigin({ nativeOrigins, isChatHost, failed }: Deps): RequestHandler {
  const native = new Set(nativeOrigins)
  const isAllowed = async (origin: string): Promise<boolean> => {
    const host = chatHostOf(origin)
    return native.has(origin) || (host !== undefined && (await isChatHost(host)))
  }
  return async (request, response, next) => {
    // Also without an origin: a cache must not give the answer to another page.
    response.vary('Origin')
    const { origin } = request.headers
    if (origin === undefined) return next()
    const allowed = await isAllowed(origin).catch((error) => {
      failed(error)
      return false
    })
    if (!allowed) return next()
    response.set(corsHeaders.answer(origin))
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return next()
    const asked = request.headers['access-control-request-headers']
    response
      .set(corsHeaders.preflight(typeof asked === 'string' ? asked : ''))
      .status(204)
      .end()
  }
}
