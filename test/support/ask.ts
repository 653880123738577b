import type { EndpointShape } from '../../src/core/contract/index.ts'

export type Request = Readonly<{ path: string; query?: unknown; body?: unknown }>

/** Asks an endpoint something that need not fit it. `text` is all that came back, with its head. A stream is left at once. */
export async function ask(url: string, { method }: EndpointShape, { path, query, body }: Request, authorization?: string) {
  const search = new URLSearchParams(Object.entries(query ?? {}).map(([key, value]) => [key, String(value)] as [string, string]))
  const response = await fetch(`${url}${path}?${search}`, {
    method,
    headers: { ...(authorization ? { authorization } : {}), ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
    ...(method === 'GET' || body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  })
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  if (isStream) await response.body?.cancel()
  return { status: response.status, text: `${[...response.headers].join('\n')}\n${isStream ? '' : await response.text()}` }
}
