import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

export type Headers = Record<string, string>
export type Asked = Readonly<{ method?: string; headers?: Headers; body?: unknown }>

/** A call with exactly these headers, as no browser and no `fetch` would send it. */
export async function rawCall(url: string, { method = 'GET', headers = {}, body }: Asked) {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const call = request(url, {
    method,
    headers: { connection: 'close', ...(sent ? { 'content-type': 'application/json' } : {}), ...headers },
  })
  call.end(sent)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  let answer = ''
  for await (const chunk of response.setEncoding('utf8')) answer += chunk
  const parsed = answer === '' ? {} : JSON.parse(answer)
  return {
    status: response.statusCode ?? 0,
    code: parsed.code as string | undefined,
    cookie: response.headers['set-cookie']?.[0],
    body: parsed,
  }
}
