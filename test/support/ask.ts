import type { EndpointShape } from '../../src/core/contract/index.ts'

export type Request = Readonly<{ path: string; query?: unknown; body?: unknown; headers?: Record<string, string> }>

/** Sends any request to an endpoint, valid or not. `text` is the whole response with its head. A stream is closed at once. */
export async function ask(url: string, endpoint: EndpointShape, { path, query, body, headers }: Request, authorization?: string) {
  const search = new URLSearchParams(Object.entries(query ?? {}).map(([key, value]) => [key, String(value)] as [string, string]))
  const sent = sentAs(endpoint, body)
  const response = await fetch(`${url}${path}?${search}`, {
    method: endpoint.method,
    headers: { ...(authorization ? { authorization } : {}), ...sent.headers, ...headers },
    ...('body' in sent ? { body: sent.body } : {}),
    signal: AbortSignal.timeout(60_000),
  })
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  if (isStream) await response.body?.cancel()
  const content = isStream ? '' : await response.text()
  return { status: response.status, content, text: `${[...response.headers].join('\n')}\n${content}` }
}

type Sent = Readonly<{ headers: Record<string, string>; body?: string | FormData }>

/** A body in the form of the endpoint: JSON, or a form with a file and the body's fields as its text parts. */
export function sentAs({ method, multipart }: EndpointShape, body: unknown): Sent {
  if (method === 'GET') return { headers: {} }
  if (multipart) return { headers: {}, body: formOf(multipart.part, body) }
  return { headers: { 'content-type': 'application/json' }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
}

function formOf(part: string, fields: unknown): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields ?? {})) form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  form.append(part, new Blob(['bytes']), 'a.txt')
  return form
}
