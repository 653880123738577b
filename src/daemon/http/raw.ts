import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request, Response } from 'express'
import { problem } from '../../core/kit/index.ts'
import { allowSlowBody } from './body-time.ts'

/** A request as it was sent, with an unread body. */
export type RawRequest = Readonly<{
  method: string
  /** The rest of the path after that of the endpoint, not decoded. Empty, or it begins with a slash. */
  rest: string
  /** Empty, or it begins with a question mark. */
  search: string
  headers: IncomingMessage['headers']
  request: IncomingMessage
  /** Reads the body. Throws PAYLOAD_TOO_LARGE above `maxBytes`. */
  readBody(maxBytes: number): Promise<Buffer>
  /** From here the body may take longer than usual. */
  allowSlowBody(): void
}>

type Headers = Readonly<Record<string, string>>

/** A whole answer, or a function that writes the response by itself. Headers of the daemon that it does not name stay. */
export type RawResponse =
  | Readonly<{ status: number; headers: Headers; body: string | Buffer }>
  | ((response: ServerResponse) => Promise<void>)

/** `segments`: of the path of the endpoint, with the leading empty one. */
export function rawRequest(request: Request, response: Response, segments: number): RawRequest {
  const { originalUrl, method, headers } = request
  // The target may be a whole address (RFC 9112, 3.2.2).
  const target = originalUrl.replace(/^https?:\/\/[^/?]*/i, '')
  const queryAt = target.indexOf('?')
  const path = queryAt < 0 ? target : target.slice(0, queryAt)
  const parts = path.split('/')
  return {
    ...{ method, headers, request },
    rest: parts.length > segments ? `/${parts.slice(segments).join('/')}` : '',
    search: queryAt < 0 ? '' : target.slice(queryAt),
    readBody: (maxBytes) => readBody(request, maxBytes),
    allowSlowBody: () => allowSlowBody(response),
  }
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => problem('PAYLOAD_TOO_LARGE', `The body has more than ${maxBytes} bytes.`)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export async function sendRaw(response: Response, answer: RawResponse): Promise<void> {
  // A browser that several users share stores it for one of them.
  response.vary('authorization')
  if (typeof answer === 'function') return answer(response)
  response.writeHead(answer.status, answer.headers)
  response.end(answer.body)
}
