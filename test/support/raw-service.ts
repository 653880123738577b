import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A request as it was on the socket. `id`, `tenant`: of the headers of a test. `body`: without its framing. */
export type Received = Readonly<{ socket: number; method: string; target: string; id: string; tenant: string; body: string }>

const field = (head: string, name: string): string => new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, 'im').exec(head)?.[1] ?? ''

/** The answer that names its request. */
export const echo = ({ id, method }: Pick<Received, 'id' | 'method'>): string => {
  const text = JSON.stringify({ id })
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-module-id: ${id}\r\ncontent-length: ${text.length}\r\n\r\n`
  return method === 'HEAD' ? head : head + text
}

/** The body and the bytes after it; undefined while it is not whole. */
function bodyOf(head: string, rest: string): readonly [string, string] | undefined {
  if (/chunked/i.test(field(head, 'transfer-encoding'))) return unchunked(rest)
  const length = Number(field(head, 'content-length') || 0)
  return rest.length < length ? undefined : [rest.slice(0, length), rest.slice(length)]
}

function unchunked(text: string): readonly [string, string] | undefined {
  let [body, rest] = ['', text]
  for (;;) {
    const line = /^([0-9a-f]+)[^\r]*\r\n/i.exec(rest)
    if (!line) return undefined
    const size = Number.parseInt(line[1] as string, 16)
    rest = rest.slice(line[0].length)
    if (size === 0) {
      const trailers = /^(?:[^\r\n]+\r\n)*\r\n/.exec(rest)
      return trailers ? [body, rest.slice(trailers[0].length)] : undefined
    }
    if (rest.length < size + 2) return undefined
    body += rest.slice(0, size)
    rest = rest.slice(size + 2)
  }
}

type Options = Readonly<{
  answer?: (received: Received, socket: Socket) => void
  /** Called once a head has arrived, before its body. */
  onHead?: (received: Received, socket: Socket) => void
  readBody?: typeof bodyOf
}>

/** A service that reads its sockets by itself: each head that arrives is a request, also one that no proxy meant to send. */
export async function aRawService({
  answer = (received, socket) => void socket.write(echo(received)),
  onHead = () => undefined,
  readBody = bodyOf,
}: Options = {}) {
  const received: Received[] = []
  const open = new Set<Socket>()
  let sockets = 0
  const server = createServer((socket) => {
    const number = ++sockets
    open.add(socket)
    let text = ''
    let isHeadShown = false
    const next = (): boolean => {
      const at = text.indexOf('\r\n\r\n')
      if (at < 0) return false
      const head = text.slice(0, at)
      const [method = '', target = ''] = head.split(' ', 2)
      const of = { socket: number, method, target, id: field(head, 'x-module-id'), tenant: field(head, 'x-module-tenant') }
      if (!isHeadShown) onHead({ ...of, body: '' }, socket)
      isHeadShown = true
      const whole = readBody(head, text.slice(at + 4))
      if (!whole) return false
      const one = { ...of, body: whole[0] }
      text = whole[1]
      isHeadShown = false
      received.push(one)
      answer(one, socket)
      return true
    }
    socket.setEncoding('latin1').on('data', (more) => {
      text += more
      while (next());
    })
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, received, open }
}
