import type { Request, Response } from 'express'
import { type EndpointShape, isStream } from '../../core/contract/index.ts'
import { isProblem, parseTraceparent } from '../../core/kit/index.ts'
import { inSpan, type Tracing } from '../../node/index.ts'

type Traced = Readonly<{ endpoint: EndpointShape; request: Request; response: Response }>

/**
 * Runs a call in a span. Operators and agents may continue a trace of theirs; others could fill the collector. Streams have no span, and neither
 * have calls of agents outside a trace: most are polls.
 */
export async function traceCall(
  tracing: Tracing | undefined,
  { endpoint, request, response }: Traced,
  work: () => Promise<void>,
): Promise<void> {
  if (!tracing || isStream(endpoint)) return work()
  const { kind } = endpoint.auth
  const given = kind === 'admin' || kind === 'agent' ? request.get('traceparent') : undefined
  const parent = parseTraceparent(given) && given
  if (kind === 'agent' && parent === undefined) return work()
  const attributes = { 'http.request.method': request.method, 'http.route': endpoint.path, 'tenantry.caller': kind }
  const failed = await inSpan(tracing, { name: `${request.method} ${endpoint.path}`, kind: 'server', parent, attributes }, async (span) => {
    try {
      await work()
      span?.set({ 'http.response.status_code': response.statusCode })
      return undefined
    } catch (error) {
      const status = isProblem(error) ? error.status : 500
      const code = isProblem(error) ? error.code : 'INTERNAL'
      span?.set({ 'http.response.status_code': status, 'error.type': code })
      // A refusal is no failure of the daemon.
      if (status >= 500) span?.fail(code)
      return { error }
    }
  })
  if (failed) throw failed.error
}
