import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

// The server of a type B module as its developer writes it, from docs/module-services.md alone.

export type Received = Readonly<{
  type: string
  data: Readonly<{
    deliveryId: string
    tenantId: string
    seq?: number
    permissions?: readonly string[]
    payload: Readonly<Record<string, unknown>>
  }>
}>
type Reply = Readonly<{ status: number; body?: unknown; afterMs?: number }>
type Asked = Readonly<{ method: string; path: string; headers: IncomingMessage['headers']; body: string }>

/** `reply` answers messages, `api` requests of users; both may be replaced. Messages with a wrong signature are refused and not received. */
export async function moduleService() {
  const received: Received[] = []
  const state = {
    secret: '',
    refused: 0,
    reply: (_message: Received): Reply => ({ status: 204 }),
    api: (_asked: Asked, response: ServerResponse): unknown => response.writeHead(404).end(),
  }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts).toString()
    const { method = '', url: path = '', headers } = request
    if (path !== '/webhook') return void (await state.api({ method, path, headers, body }, response))
    try {
      received.push(new Webhook(state.secret).verify(body, headers as Record<string, string>) as Received)
    } catch {
      state.refused++
      return void response.writeHead(401).end()
    }
    const { status, body: answer, afterMs = 0 } = state.reply(received.at(-1) as Received)
    setTimeout(() => response.writeHead(status).end(answer === undefined ? '' : JSON.stringify(answer)), afterMs)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>((closed) => server.close(() => closed()))
  }
  const ofType = (type: string) => received.filter((message) => message.type === type)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, ofType, state, close }
}
