import type { IncomingMessage } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { maxChunks, utf8Text } from '../../../core/kit/index.ts'
import { type Failure, webhookUrl } from '../../../core/module-services/index.ts'
import type { Connections } from './connections.ts'

/** A message to a service. `secret`: whsec_…, of the module. */
export type ServiceCall = Readonly<{
  upstream: string
  tenantId: string
  moduleId: string
  secret: string
  id: string
  body: string
  at: Date
  timeoutMs: number
  signal?: AbortSignal | undefined
}>

/** The body of a 2xx answer, or why the message was not delivered. */
type ServiceAnswer = Readonly<{ ok: true; body: string }> | Readonly<{ ok: false; failure: Failure }>

export type CallService = (call: ServiceCall) => Promise<ServiceAnswer>

const maxAnswerBytes = 1_048_576

/**
 * Sends messages signed as Standard Webhooks. Only 2xx is delivered; redirects are not followed, because no operator approved their target.
 * Neither the secret nor the answer is part of a failure.
 */
export const openServiceCalls =
  ({ send }: Pick<Connections, 'send'>): CallService =>
  async ({ upstream, tenantId, moduleId, secret, id, body, at, timeoutMs, signal }) => {
    const limit = AbortSignal.timeout(timeoutMs)
    const content = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), 'user-agent': 'tenantry' }
    try {
      const answer = await send({
        ...{ url: webhookUrl(upstream), method: 'POST', owner: `message ${tenantId} ${moduleId}`, isRepeatable: true },
        headers: { ...content, ...signed({ secret, id, at, body }) },
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        write: (outgoing) => outgoing.end(body),
      })
      const { statusCode: status = 0 } = answer
      const bytes = await bytesOf(answer)
      if (status >= 200 && status < 300) return bytes === undefined ? tooLarge : answered(bytes)
      return { ok: false, failure: { status, reason: `the service answered ${status}` } }
    } catch (error) {
      const reason = limit.aborted ? `the service did not answer within ${timeoutMs / 1000} s` : whyUnreachable(error as Failed)
      return { ok: false, failure: { status: null, reason } }
    }
  }

type Failed = Error & { code?: string }

const whyUnreachable = ({ name, code, message }: Failed): string =>
  code === 'EPRIVATE' ? `the service is not called: ${message}` : `the service is not reachable (${code ?? name})`

const tooLarge = {
  ok: false,
  failure: {
    status: 200,
    reason: 'the answer of the service is larger than 1 MB, or comes in too many small chunks',
    violation: 'answer_size',
  },
} as const satisfies ServiceAnswer

const notText = { ok: false, failure: { status: 200, reason: 'the answer of the service is not UTF-8' } } as const satisfies ServiceAnswer

function answered(bytes: Buffer): ServiceAnswer {
  const body = utf8Text(bytes)
  return body === undefined ? notText : { ok: true, body }
}

/** Undefined if it is larger than an answer may be, or has too many chunks. They are counted as they arrive: an iterator joins them. */
const bytesOf = (answer: IncomingMessage): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const add = (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes <= maxAnswerBytes && chunks.length <= maxChunks(bytes)) return
      answer.off('data', add).destroy()
      resolve(undefined)
    }
    answer.on('data', add).once('end', () => resolve(Buffer.concat(chunks)))
    answer.on('error', reject).once('close', () => reject(new Error('the answer was cut off')))
  })

const signed = ({ secret, id, at, body }: Pick<ServiceCall, 'secret' | 'id' | 'at' | 'body'>) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign(id, at, body),
})
