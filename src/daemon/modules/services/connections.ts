import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http'
import { Agent as HttpsAgent, request as requestSecure } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Egress } from '../../../node/index.ts'

type Message = Readonly<{
  url: string
  method: string
  /** With the framing of the body. */
  headers: Readonly<Record<string, string | string[]>>
  /** Tenant and module: a connection is used for one owner alone. */
  owner: string
  /** Without effect if it arrives twice. Only such a message goes over a connection that was used before. */
  isRepeatable: boolean
  signal: AbortSignal
  /** Writes the body and ends it. Called again for a repetition. */
  write: (outgoing: ClientRequest) => void
}>

/** `send` resolves at the head of the answer, and rejects with EPRIVATE, an error of the connection, or the reason that `write` destroyed it with. */
export type Connections = Readonly<{ send(message: Message): Promise<IncomingMessage>; close(): void }>

type Owned = Readonly<{ owner: string }>

/** Less than the 5 s after which servers of Node.js close an idle connection. */
const idleMs = 4000
const maxPerOwner = 32
const maxIdlePerOwner = 4
const maxIdle = 256
/** Interim answers to one request, such as 103 Early Hints. */
const maxInterim = 20

/**
 * Connections to services of modules. A connection belongs to one tenant and module, and after a body or HEAD it is closed: a service that reads
 * another end of a message than it has mixes up at most the answers of its own connection.
 */
export function openConnections({ lookup, assertHost }: Egress): Connections {
  const fresh = { maxSockets: maxPerOwner, lookup }
  const kept = { ...fresh, keepAlive: true, timeout: idleMs, maxFreeSockets: maxIdlePerOwner }
  const plain = { request: requestPlain, fresh: perOwner(new HttpAgent(fresh)), kept: perOwner(new HttpAgent(kept)) }
  const secure = { request: requestSecure, fresh: perOwner(new HttpsAgent(fresh)), kept: perOwner(new HttpsAgent(kept)) }
  const open = ({ url, owner, method, headers, signal }: Message, isReused: boolean): ClientRequest => {
    const target = new URL(url)
    assertHost(target.hostname)
    const { request, ...agents } = target.protocol === 'https:' ? secure : plain
    const options: RequestOptions & Owned = { method, headers, signal, owner, agent: isReused ? agents.kept : agents.fresh }
    return request(target, options)
  }
  const send = async (message: Message): Promise<IncomingMessage> => {
    const first = open(message, message.isRepeatable)
    const read = bytesRead(first)
    try {
      return await answerOf(first, message)
    } catch (error) {
      const isStale = first.reusedSocket && read() === 0 && ['ECONNRESET', 'EPIPE'].includes(String((error as NodeJS.ErrnoException).code))
      if (!isStale || message.signal.aborted) throw error
      return answerOf(open(message, false), message)
    }
  }
  const close = () => {
    for (const agent of [plain.fresh, plain.kept, secure.fresh, secure.kept]) agent.destroy()
  }
  return { send, close }
}

/** Rejects too when the service switches protocols, which has no event but `close`. */
const answerOf = (outgoing: ClientRequest, { write }: Message): Promise<IncomingMessage> =>
  new Promise((answered, failed) => {
    outgoing.once('response', answered).on('error', failed)
    let interim = 0
    outgoing.on('information', () => {
      if (++interim > maxInterim) outgoing.destroy(Object.assign(new Error('interim answers without an end'), { code: 'EINTERIM' }))
    })
    outgoing.once('close', () => failed(Object.assign(new Error('the service ended the connection'), { code: 'ECONNRESET' })))
    write(outgoing)
  })

/** Bytes that arrived on the connection of a request since it was sent. */
function bytesRead(outgoing: ClientRequest): () => number {
  let before = 0
  outgoing.once('socket', (socket) => {
    before = socket.bytesRead
  })
  return () => (outgoing.socket?.bytesRead ?? 0) - before
}

/** A service that sends without being asked is not asked again on this connection: the next request would take it for its answer. */
const hangUp = function (this: Duplex): void {
  this.destroy()
}

/** `keepSocketAlive` returns whether the connection is kept, which its type lacks. */
type Agent = Omit<HttpAgent, 'keepSocketAlive'> & { keepSocketAlive(socket: Duplex): boolean }

function perOwner<A extends HttpAgent>(made: A): A {
  const agent = made as Agent
  const [nameOf, keep, reuse] = [agent.getName.bind(agent), agent.keepSocketAlive.bind(agent), agent.reuseSocket.bind(agent)]
  const idle = () => Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0)
  agent.getName = (options) => `${(options as Owned).owner} ${nameOf(options)}`
  agent.keepSocketAlive = (socket) => {
    if (socket.readableLength > 0 || idle() >= maxIdle || !keep(socket)) return false
    socket.on('data', hangUp)
    return true
  }
  agent.reuseSocket = (socket, request) => {
    socket.off('data', hangUp)
    reuse(socket, request)
  }
  return made
}
