import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isProblem, maxChunks, type Problem, problem } from '../../../core/kit/index.ts'
import { bodyFraming, forwardedHeaders, isRedirect, maxBodyBytes, proxyTimeoutMs } from '../../../core/module-services/index.ts'
import { answerHeaders } from '../../../core/modules/index.ts'
import type { Connections } from './connections.ts'

/** One request of a user to the service of a module. `url`: at the service. `headers`: those that the platform sets. */
type ProxiedRequest = Readonly<{
  request: IncomingMessage
  response: ServerResponse
  moduleId: string
  tenantId: string
  url: string
  headers: Readonly<Record<string, string>>
  /** Aborts when the caller has left or lost access, or the module has changed; its reason is thrown. */
  signal: AbortSignal
}>

/** Resolves when the answer was sent or the connection has ended. Throws a problem while nothing of the answer was sent. */
export type ProxyRequest = (proxied: ProxiedRequest) => Promise<void>

/** Forwards requests. Method, headers and framing of both messages are set here: nothing of them is copied without being read. */
export const openProxy =
  ({ send }: Pick<Connections, 'send'>, timeoutMs = proxyTimeoutMs): ProxyRequest =>
  async (proxied) => {
    const { request, response, moduleId, tenantId, url } = proxied
    const { method = 'GET' } = request
    const late = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([proxied.signal, late])
    try {
      const framing = framingOf(request)
      const answer = await send({
        ...{ url, method, owner: `${tenantId} ${moduleId}`, isRepeatable: method === 'GET', signal },
        headers: { ...forwardedHeaders(request.headers, proxied.headers), ...framing },
        write: (outgoing) => sendBody(request, outgoing, framing),
      })
      await sendAnswer(proxied, answer, signal)
    } catch (error) {
      if (response.headersSent) return void response.destroy()
      if (proxied.signal.aborted) throw proxied.signal.reason
      if (isProblem(error)) throw error
      throw unusable(proxied, late.aborted ? `did not answer within ${timeoutMs / 1000} s` : whyUnreachable(error as Failure))
    } finally {
      dropBody(request, response)
    }
  }

type Failure = Error & { code?: string }

const unusable = ({ moduleId }: Pick<ProxiedRequest, 'moduleId'>, reason: string): Problem =>
  problem('MODULE_SERVICE_FAILED', `The service of the module ${moduleId} ${reason}.`)

const whyUnreachable = ({ code, message }: Failure): string =>
  code === 'EPRIVATE' ? `is not called: ${message}` : `is not reachable (${code ?? 'no connection'})`

type Framing = ReturnType<typeof bodyFraming>

/** Throws NOT_IMPLEMENTED for an upgrade such as a WebSocket, VALIDATION for a body that has no meaning, PAYLOAD_TOO_LARGE by the declared length. */
function framingOf({ method = 'GET', headers }: IncomingMessage): Framing {
  if (headers.upgrade !== undefined)
    throw problem('NOT_IMPLEMENTED', 'Requests to modules cannot be upgraded: WebSockets are not supported.')
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge()
  return bodyFraming(method, headers)
}

const tooLarge = () => problem('PAYLOAD_TOO_LARGE', `The body exceeds the limit of ${maxBodyBytes / 1_048_576} MB.`)

/** Node.js ends a body at its declared length; only a body without one is counted. A body that is cut off never ends: `signal` aborts it. */
function sendBody(request: IncomingMessage, outgoing: ClientRequest, framing: Framing): void {
  if (framing['content-length'] === '0' || !('content-length' in framing || 'transfer-encoding' in framing)) return void outgoing.end()
  if ('content-length' in framing) return void request.pipe(outgoing)
  const counter = limitBytes(tooLarge)
  counter.on('error', (error) => outgoing.destroy(error))
  request.pipe(counter).pipe(outgoing)
}

/** The unread rest of a body would hold up the connection of the caller. */
function dropBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return
  if (!response.headersSent) response.setHeader('connection', 'close')
  request.unpipe()
  request.resume()
}

function limitBytes(error: () => Error): Transform {
  let [bytes, chunks] = [0, 0]
  return new Transform({
    transform(chunk: Buffer, _, next) {
      bytes += chunk.length
      if (bytes > maxBodyBytes) next(error())
      else if (++chunks > maxChunks(bytes)) next(problem('VALIDATION', 'The body comes in too many small chunks.'))
      else next(null, chunk)
    },
  })
}

/** Their answers have no body. */
const withoutBody = new Set([204, 205, 304])

async function sendAnswer(proxied: ProxiedRequest, answer: IncomingMessage, signal: AbortSignal): Promise<void> {
  const { response, request } = proxied
  const { statusCode: status = 502, headers } = answer
  const reason = whyUnusable(status, headers)
  if (reason) {
    answer.destroy()
    throw unusable(proxied, reason)
  }
  const length = headers['transfer-encoding'] === undefined ? headers['content-length'] : undefined
  const isEmpty = withoutBody.has(status)
  const framing = length === undefined || isEmpty ? {} : { 'content-length': length }
  // Headers that the frame sets, such as its own policy, are replaced.
  response.removeHeader('content-security-policy')
  // An answer before the end of the request is the last one of this connection.
  const last = request.complete ? {} : { connection: 'close' }
  response.writeHead(status, { ...answerHeaders(headers), ...framing, ...last })
  if (isEmpty || request.method === 'HEAD') {
    // Bytes that follow belong to no answer.
    answer.destroy()
    return void response.end()
  }
  const limited = length === undefined ? [limitBytes(() => new Error('the answer is too large'))] : []
  await pipeline([answer, ...limited, response], { signal })
}

function whyUnusable(status: number, headers: IncomingMessage['headers']): string | undefined {
  if (isRedirect(status)) return `answered with a redirect (${status}), which is not followed`
  if (status < 200 || status > 599) return `answered ${status}`
  if (!['', 'identity'].includes(headers['content-encoding'] ?? '')) return `encoded its answer as ${headers['content-encoding']}`
  if (!['', 'chunked'].includes(headers['transfer-encoding'] ?? '')) return `encoded its answer as ${headers['transfer-encoding']}`
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) return `sent more than ${maxBodyBytes / 1_048_576} MB`
  return undefined
}
