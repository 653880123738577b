import { forbiddenPort, problem } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'

const timeoutMs = 10_000

type Call = Readonly<{
  /** The receiver in an error: `the webhook`, `the channel on-call`. */
  who: string
  /** The setting with its address. */
  setting: string
  url: string
  method?: 'POST' | 'PUT'
  headers?: Readonly<Record<string, string>>
  body: string
  signal?: AbortSignal | undefined
}>

/**
 * Sends one message as JSON. Only 2xx counts as delivered; redirects are not followed, because their target was not configured.
 * Throws UNAVAILABLE; neither a secret nor the path is part of the error.
 */
export async function callReceiver({ who, setting, url, method = 'POST', headers, body, signal }: Call): Promise<string> {
  const address = new URL(url)
  const { origin } = address
  const never = forbiddenPort(address)
  if (never) throw problem('UNAVAILABLE', `${who} at ${origin} cannot be called: ${never} (setting ${setting})`)
  const limit = AbortSignal.timeout(timeoutMs)
  const response = await settlingFetch(url, {
    method,
    headers: { 'content-type': 'application/json', 'user-agent': 'tenantry', ...headers },
    body,
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
  }).catch((error: FetchError) => {
    throw problem('UNAVAILABLE', `${who} at ${origin} does not answer (${reasonOf(error)})`)
  })
  await response.body?.cancel()
  if (!response.ok) throw problem('UNAVAILABLE', `${who} at ${origin} answered ${response.status}`)
  return `${origin} answered ${response.status}`
}

type FetchError = Error & Readonly<{ cause?: Readonly<{ code?: string }> }>

const reasonOf = ({ name, cause }: FetchError): string => (name === 'TimeoutError' ? 'no answer in 10 s' : (cause?.code ?? name))
