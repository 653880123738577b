import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { createRequire } from 'node:module'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ProxyServer } from 'http-proxy-3'
import { type Problem, problem } from '../../core/kit/index.ts'
import { forwardedHeaders, isRedirect, maxBodyBytes, proxyTimeoutMs } from '../../core/module-services/index.ts'
import { answerHeaders } from '../../core/modules/index.ts'
import type { Egress } from '../../node/index.ts'

/** One request of a user to the service of a module. `url`: at the service. `headers`: those that the platform sets. */
type ProxiedRequest = Readonly<{
  request: IncomingMessage
  response: ServerResponse
  moduleId: string
  url: string
  headers: Readonly<Record<string, string>>
  /** Aborts when the caller has left or lost access. */
  signal: AbortSignal
}>

/** Resolves when the answer was sent or the connection has ended. Throws a problem while nothing of the answer was sent. */
export type ProxyRequest = (proxied: ProxiedRequest) => Promise<void>

type Exchange = { outgoing?: ClientRequest; settle: (answer: IncomingMessage) => void; fail: (error: Error) => void }

/** Forwards requests with http-proxy-3. Paths, headers, sizes and time are checked here; the library only carries the bytes. */
export function openProxy({ lookup, assertHost }: Egress, timeoutMs = proxyTimeoutMs): { proxy: ProxyRequest; close(): void } {
  const options = { keepAlive: true, keepAliveMsecs: 10_000, maxSockets: 64, timeout: timeoutMs, lookup }
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) }
  const exchanges = new WeakMap<ServerResponse, Exchange>()
  let opened: ProxyServer | undefined
  const proxy: ProxyRequest = async (proxied) => {
    assertForwardable(proxied.request)
    opened ??= openServer(exchanges)
    const carrier = opened
    const target = new URL(proxied.url)
    const late = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([proxied.signal, late])
    const { response } = proxied
    const exchange: Exchange = { settle: () => undefined, fail: () => undefined }
    const answered = new Promise<IncomingMessage>((settle, fail) => Object.assign(exchange, { settle, fail }))
    exchanges.set(response, exchange)
    const stop = () => {
      exchange.outgoing?.destroy()
      exchange.fail(late.aborted ? unusable(proxied, `did not answer within ${timeoutMs / 1000} s`) : new CallerLeft())
    }
    signal.addEventListener('abort', stop)
    try {
      assertHost(target.hostname)
      const buffer = limitedBody(proxied.request, exchange)
      const agent = agents[target.protocol as 'http:' | 'https:']
      carrier.web(outgoingForm(proxied), response as never, {
        target,
        agent,
        buffer,
        ignorePath: true,
        selfHandleResponse: true,
        changeOrigin: true,
      })
      await sendAnswer(proxied, await answered, signal)
    } catch (error) {
      exchange.outgoing?.destroy()
      if (error instanceof CallerLeft || response.headersSent) response.destroy()
      else throw isOurs(error) ? error : unusable(proxied, whyUnreachable(error as Error & { code?: string }))
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
  const close = () => {
    for (const agent of Object.values(agents)) agent.destroy()
  }
  return { proxy, close }
}

class CallerLeft extends Error {}

const isOurs = (error: unknown): boolean => (error as Error).name === 'Problem'

const unusable = ({ moduleId }: Pick<ProxiedRequest, 'moduleId'>, reason: string): Problem =>
  problem('MODULE_SERVICE_FAILED', `The service of the module ${moduleId} ${reason}.`)

const whyUnreachable = ({ code, message }: Error & { code?: string }): string =>
  code === 'EPRIVATE' ? `is not called: ${message}` : `is not reachable (${code ?? 'no connection'})`

/** Loaded by the first request. Events of the library name the response, which finds the exchange. */
function openServer(exchanges: WeakMap<ServerResponse, Exchange>): ProxyServer {
  const library: typeof import('http-proxy-3') = createRequire(import.meta.url)('http-proxy-3')
  const server = library.createProxyServer({})
  server.on('proxyReq', (outgoing, _, response) => {
    const exchange = exchanges.get(response)
    if (exchange) exchange.outgoing = outgoing
  })
  server.on('proxyRes', (answer, _, response) => exchanges.get(response)?.settle(answer))
  server.on('econnreset', (error, _, response) => exchanges.get(response as ServerResponse)?.fail(error))
  server.on('error', (error, _, response) => exchanges.get(response as ServerResponse)?.fail(error))
  return server
}

/** Throws NOT_IMPLEMENTED for an upgrade such as a WebSocket, PAYLOAD_TOO_LARGE by the declared length. */
function assertForwardable({ headers }: IncomingMessage): void {
  if (headers.upgrade !== undefined)
    throw problem('NOT_IMPLEMENTED', 'Requests to modules cannot be upgraded: WebSockets are not supported.')
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge()
}

const tooLarge = () => problem('PAYLOAD_TOO_LARGE', `The body exceeds the limit of ${maxBodyBytes / 1_048_576} MB.`)

/** Node.js ends a body at its declared length; only a body without one is counted. */
function limitedBody(request: IncomingMessage, exchange: Exchange): Readable {
  if (request.headers['transfer-encoding'] === undefined) return request
  const counter = limitBytes(() => {
    exchange.fail(tooLarge())
    return tooLarge()
  })
  counter.on('error', () => exchange.outgoing?.destroy())
  return request.pipe(counter)
}

function limitBytes(error: () => Error): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _, next) {
      bytes += chunk.length
      if (bytes > maxBodyBytes) next(error())
      else next(null, chunk)
    },
  })
}

/** The request as the library is to send it. A copy, because the caller is authenticated again by the headers of the original. */
function outgoingForm({ request, headers }: ProxiedRequest): never {
  const { method, socket } = request
  const forwarded: OutgoingHttpHeaders = forwardedHeaders(request.headers, headers)
  if (request.headers['transfer-encoding'] !== undefined) delete forwarded['content-length']
  const copy = {
    method,
    socket,
    connection: socket,
    headers: forwarded,
    url: '/',
    httpVersion: '1.1',
    httpVersionMajor: 1,
    on: request.on.bind(request),
  }
  return copy as never
}

async function sendAnswer(proxied: ProxiedRequest, answer: IncomingMessage, signal: AbortSignal): Promise<void> {
  const { response, request } = proxied
  const { statusCode: status = 502, headers } = answer
  const reason = whyUnusable(status, headers)
  if (reason) {
    answer.destroy()
    throw unusable(proxied, reason)
  }
  // Headers that the frame sets, such as its own policy, are replaced.
  response.removeHeader('content-security-policy')
  response.writeHead(status, { 'cache-control': 'no-store', ...answerHeaders(headers) })
  if (request.method === 'HEAD') {
    answer.resume()
    return void response.end()
  }
  const isSized = headers['content-length'] !== undefined
  const limited = isSized ? [] : [limitBytes(() => new Error('the answer is too large'))]
  await pipeline([answer, ...limited, response], { signal })
}

function whyUnusable(status: number, headers: IncomingMessage['headers']): string | undefined {
  if (isRedirect(status)) return `answered with a redirect (${status}), which is not followed`
  if (status < 200) return `answered ${status}`
  if (!['', 'identity'].includes(headers['content-encoding'] ?? '')) return `encoded its answer as ${headers['content-encoding']}`
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) return `sent more than ${maxBodyBytes / 1_048_576} MB`
  return undefined
}
