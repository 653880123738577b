import { answerHeaders } from './answer-headers.ts'
import type { ModuleResponse } from './response.ts'

/** Their answers have no body, or are about the connection. */
const withoutBody = new Set([204, 205, 304])

type RouteResponse = Readonly<{ status: number; headers: Readonly<Record<string, string>>; body: string }>

/** The answer of a type A module as it is sent. */
export function routeResponse({ status, headers, body }: ModuleResponse): RouteResponse {
  const type = headers['content-type'] ?? (typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json')
  return {
    status,
    headers: answerHeaders({ ...headers, 'content-type': type }),
    body: withoutBody.has(status) ? '' : bodyOf(body, type),
  }
}

const bodyOf = (body: unknown, type: string): string =>
  typeof body === 'string' && !type.startsWith('application/json') ? body : JSON.stringify(body)
