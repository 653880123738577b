import { z } from 'zod'
import { asJson, isProblem, problem } from '../../core/kit/index.ts'
import type { GateAnswer, NoAnswer } from '../../core/rollouts/index.ts'
import { readIfThere, settlingFetch } from '../../node/index.ts'

/** Asks for the value of a query now. It never throws, unless the signal aborts. */
export type AskPrometheus = (query: string, signal?: AbortSignal) => Promise<GateAnswer>

type Settings = Readonly<{ url?: string | undefined; tokenFile?: string | undefined }>

const timeoutMs = 5000
/** An answer with one value has some hundred bytes. */
const maxBytes = 256 * 1024

const Sample = z.tuple([z.number(), z.string()])
const Answer = z.union([
  z.object({
    status: z.literal('success'),
    data: z.union([
      z.object({ resultType: z.literal('vector'), result: z.array(z.object({ value: Sample })) }),
      z.object({ resultType: z.literal('scalar'), result: Sample }),
      z.object({ resultType: z.enum(['matrix', 'string']) }),
    ]),
  }),
  z.object({ status: z.literal('error'), error: z.string() }),
])

/** Undefined without an address. The token is read at each question, so that it can be replaced. */
export const prometheusAt = ({ url, tokenFile }: Settings): AskPrometheus | undefined =>
  url === undefined
    ? undefined
    : async (query, signal) => {
        try {
          return answerOf(await call(url, { query, tokenFile, signal }))
        } catch (error) {
          signal?.throwIfAborted()
          return isProblem(error)
            ? none('UNREACHABLE', error.message)
            : none('UNREACHABLE', `${new URL(url).origin} ${reasonOf(error as FetchError)}`)
        }
      }

const none = (code: NoAnswer['code'], message: string): GateAnswer => ({ noAnswer: { code, message } })

/** The answer to a gate where the daemon has no `prometheus.url`. */
export const askNobody: AskPrometheus = async () => none('NOT_CONFIGURED', 'the daemon has no prometheus.url')

type Call = Readonly<{ query: string; tokenFile: string | undefined; signal: AbortSignal | undefined }>
type Reply = Readonly<{ status: number; body: unknown }>

/** Redirects are not followed: their target was not configured, and would get the token. */
async function call(url: string, { query, tokenFile, signal }: Call): Promise<Reply> {
  const limit = AbortSignal.timeout(timeoutMs)
  const response = await settlingFetch(`${url.replace(/\/$/, '')}/api/v1/query`, {
    method: 'POST',
    headers: { 'user-agent': 'tenantry', ...(tokenFile === undefined ? {} : { authorization: `Bearer ${await tokenIn(tokenFile)}` }) },
    body: new URLSearchParams({ query, timeout: `${timeoutMs / 1000}s` }),
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
  })
  return { status: response.status, body: await jsonOf(response) }
}

async function tokenIn(file: string): Promise<string> {
  const token = (await readIfThere(file).catch(() => undefined))?.trim()
  if (!token) throw problem('CONFIG_INVALID', `the token file ${file} (prometheus.tokenFile) cannot be read, or is empty`)
  return token
}

/** Undefined where it is no JSON. Throws for an answer that is too long. */
async function jsonOf(response: Response): Promise<unknown> {
  let [text, bytes] = ['', 0]
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) throw problem('UNAVAILABLE', `the answer has more than ${maxBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return asJson(text)
}

function answerOf({ status, body }: Reply): GateAnswer {
  const { success, data: answer } = Answer.safeParse(body)
  if (success && answer.status === 'error') return none('REFUSED', answer.error.slice(0, 500))
  if (status !== 200) return none(status < 500 ? 'REFUSED' : 'UNREACHABLE', `HTTP ${status}`)
  if (!success || answer.status === 'error') return none('UNREACHABLE', 'the answer is not one of Prometheus')
  const { data } = answer
  if (!('result' in data)) return none('NOT_A_NUMBER', `the query answers a ${data.resultType}`)
  if (data.resultType === 'scalar') return answered(data.result[1])
  const [first, ...others] = data.result
  if (!first) return none('EMPTY', 'no series matches')
  return others.length > 0 ? none('SEVERAL', `${data.result.length} series match instead of one`) : answered(first.value[1])
}

const answered = (value: string): GateAnswer => (value === 'NaN' ? none('NOT_A_NUMBER', 'the value is NaN') : { value })

type FetchError = Error & Readonly<{ cause?: Readonly<{ code?: string }> }>

const reasonOf = ({ name, cause }: FetchError): string =>
  name === 'TimeoutError' ? `does not answer within ${timeoutMs / 1000} s` : `does not answer (${cause?.code ?? name})`
