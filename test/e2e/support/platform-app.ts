import { readFile } from 'node:fs/promises'
import { Agent, type FormData, fetch, type Response } from 'undici'
import { startPlatformEdge } from '../../support/platform-edge.ts'
import { eventually } from './programs.ts'

// The platform as an app sees it: its name, TLS and nginx, not the daemon.

type Asked = Readonly<{ token?: string; body?: unknown; form?: FormData; headers?: Readonly<Record<string, string>> }>
type Answer<T> = Readonly<{ status: number; headers: Response['headers']; body: T }>
type StreamEvent = Readonly<{ id: string; event: string; data: Readonly<{ type: string; ids: Readonly<Record<string, string>> }> }>

/** Events that a stream has received. */
export type Stream = Readonly<{ received: StreamEvent[]; until(type: string): Promise<StreamEvent>; ended: Promise<void> }>

/** The platform of the daemon at `daemonUrl`, as apps outside reach it. */
export async function platformBehindEdge(daemonUrl: string) {
  const edge = await startPlatformEdge(Number(new URL(daemonUrl).port))
  const base = `https://${edge.serverName}:${edge.ports.secure}`
  const here = (_name: string, _options: unknown, found: (error: null, all: { address: string; family: number }[]) => void) =>
    found(null, [{ address: '127.0.0.1', family: 4 }])
  const dispatcher = new Agent({ connect: { ca: await readFile(edge.certificate), lookup: here }, bodyTimeout: 0 })
  const stopping = new AbortController()

  const send = (method: string, path: string, { token, body, form, headers }: Asked) =>
    fetch(base + path, {
      method,
      dispatcher,
      signal: stopping.signal,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(form === undefined ? {} : { body: form }),
    })

  async function ask<T = Record<string, never>>(method: string, path: string, asked: Asked = {}): Promise<Answer<T>> {
    const response = await send(method, path, asked)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: (text === '' ? {} : JSON.parse(text)) as T }
  }

  /** The event stream of a user, from now on or after the event with that id. */
  async function follow(token: string, lastEventId?: string): Promise<Stream> {
    const asked = lastEventId === undefined ? { token } : { token, headers: { 'last-event-id': lastEventId } }
    const response = await send('GET', '/api/platform/v1/events/stream', asked)
    if (!response.ok) throw new Error(`the stream answered ${response.status}`)
    const received: StreamEvent[] = []
    const ended = read(response, (one) => {
      if (one.event !== 'position') received.push(one)
    }).catch(() => undefined)
    const until = (type: string) => eventually(`the stream sends ${type}`, async () => received.find((one) => one.event === type))
    return { received, until, ended }
  }

  const close = async () => {
    stopping.abort()
    await dispatcher.close()
    await edge.close()
  }
  return { send, ask, follow, close }
}

async function read(response: Response, onEvent: (one: StreamEvent) => void): Promise<void> {
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8')
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
      const data = field('data')
      if (data !== undefined) onEvent({ id: field('id') ?? '', event: field('event') ?? '', data: JSON.parse(data) })
    }
  }
}
