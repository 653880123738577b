import { createRequire } from 'node:module'
import { Webhook } from 'standardwebhooks'
import { type Failure, webhookUrl } from '../../core/module-services/index.ts'
import type { Egress } from '../../node/index.ts'

/** A message to a service. `secret`: whsec_…, of the module. */
export type ServiceCall = Readonly<{
  upstream: string
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

const connectMs = 5000
const maxAnswerBytes = 1_048_576
const connectionsPerService = 8

/**
 * Sends messages signed as Standard Webhooks. Only 2xx is delivered; redirects are not followed, because no operator approved their target.
 * Neither the secret nor the answer is part of a failure.
 */
export function openServiceCalls({ lookup, assertHost }: Egress): { call: CallService; close(): Promise<void> } {
  let opened: Client | undefined
  const call: CallService = async ({ upstream, secret, id, body, at, timeoutMs, signal }) => {
    opened ??= openClient(lookup)
    const { request, dispatcher } = opened
    const limit = AbortSignal.timeout(timeoutMs)
    try {
      assertHost(new URL(upstream).hostname)
      const answer = await request(webhookUrl(upstream), {
        method: 'POST',
        dispatcher,
        headers: { 'content-type': 'application/json', 'user-agent': 'tenantry', ...signed({ secret, id, at, body }) },
        body,
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      })
      const text = await answer.body.text()
      if (answer.statusCode >= 200 && answer.statusCode < 300) return { ok: true, body: text }
      return { ok: false, failure: { status: answer.statusCode, reason: `the service answered ${answer.statusCode}` } }
    } catch (error) {
      return { ok: false, failure: failureOf(error as Error & { code?: string }, timeoutMs) }
    }
  }
  return { call, close: async () => opened?.dispatcher.close() }
}

const signed = ({ secret, id, at, body }: Pick<ServiceCall, 'secret' | 'id' | 'at' | 'body'>) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign(id, at, body),
})

function failureOf({ name, code, message }: Error & { code?: string }, timeoutMs: number): Failure {
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return { status: 200, reason: 'the answer of the service is larger than 1 MB', violation: 'answer_size' }
  if (code === 'EPRIVATE') return { status: null, reason: `the service is not called: ${message}` }
  if (name === 'TimeoutError') return { status: null, reason: `the service did not answer within ${timeoutMs / 1000} s` }
  return { status: null, reason: `the service is not reachable (${code ?? name})` }
}

type Client = Readonly<{ request: typeof import('undici').request; dispatcher: import('undici').Agent }>

/** Loaded by the first call, to save memory in a daemon without services. `require`, because a failed `import` is cached for ever. */
function openClient(lookup: Egress['lookup']): Client {
  const undici: typeof import('undici') = createRequire(import.meta.url)('undici')
  const dispatcher = new undici.Agent({
    connect: { timeout: connectMs, lookup },
    connections: connectionsPerService,
    keepAliveTimeout: 10_000,
    maxResponseSize: maxAnswerBytes,
  })
  return { request: undici.request, dispatcher }
}
