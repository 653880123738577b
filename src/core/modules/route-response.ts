import { answerHeaders } from './answer-headers.ts'
import type { ModuleResponse } from './response.ts'

/** Their answers have no body, or are about the connection. */
const withoutBody = new Set([204, 205, 304])

type RouteResponse = Readonly<{ status: number; headers: Readonly<Record<string, string>>; body: string }>

/** The answer of a type A module as it is sent. `json`: its body, which is parsed only if it is a text. */
export function routeResponse({ status, headers }: ModuleResponse, json = 'null'): RouteResponse {
  const isText = json.startsWith('"')
  const type = headers['content-type'] ?? (isText ? 'text/plain; charset=utf-8' : 'application/json')
  const body = isText && !type.startsWith('application/json') ? JSON.parse(json) : json
  return { status, headers: answerHeaders({ ...headers, 'content-type': type }), body: withoutBody.has(status) ? '' : body }
}
