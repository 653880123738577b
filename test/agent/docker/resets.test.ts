import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { dockerEngine } from '../../../src/agent/docker/index.ts'
import { engineAgent } from '../../../src/agent/docker/requests.ts'

// An engine that closes connections: while it restarts, in the middle of a response, or because a program left its input unread.

type Answer = (request: IncomingMessage, response: ServerResponse) => void
type Upgrade = (socket: Socket) => void

async function anEngine({ answer, upgrade }: { answer: Answer; upgrade?: Upgrade }) {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-resets-'))
  const path = join(folder, 'docker.sock')
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    answer(request, response)
  })
  server.on('upgrade', (request, socket: Socket) => {
    requests.push(`${request.method} ${request.url}`)
    upgrade?.(socket)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  const listen = () => new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await rm(folder, { recursive: true, force: true })
  })
  const limits = { readMs: 5_000, changeMs: 5_000, retryMs: 20 }
  return { engine: dockerEngine({ dockerHost: `unix://${path}`, limits }), requests, listen, sockets }
}

const json = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const reset = ({ socket }: IncomingMessage) => void socket.destroy()
const breakOff = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('[{')
  setImmediate(() => response.socket?.destroy())
}

const project = { name: 'box-oak', folder: '/none', composeFile: '/none/compose.yaml' }
const unavailable = { code: 'DOCKER_UNAVAILABLE', message: expect.stringContaining('ECONNRESET') }
const listed = [{ Id: 'c1', Labels: { 'com.docker.compose.service': 'synapse' } }]
const inspected = {
  Id: 'c1',
  Image: 'sha256:1',
  Config: { Image: 'a:1', Labels: { 'com.docker.compose.service': 'synapse' }, Env: [] },
  State: { Status: 'running', Running: true, StartedAt: '2026-01-01T00:00:00Z', ExitCode: 0 },
  NetworkSettings: { Networks: {} },
  Mounts: [],
}

/** Closes the first connections of each request, then answers. */
const afterResets = (times: number, fail: Answer): Answer => {
  const failed = new Map<string, number>()
  return (request, response) => {
    const key = `${request.method} ${request.url}`
    const count = failed.get(key) ?? 0
    failed.set(key, count + 1)
    if (count < times) return fail(request, response)
    const isAbout = (part: string) => request.url?.includes(part)
    if (request.method !== 'GET') return void response.writeHead(304).end()
    json(response, isAbout('/containers/json') ? listed : isAbout('/containers/') ? inspected : {})
  }
}

describe('an engine that closes a connection', () => {
  test.each([
    ['before it answers', reset],
    ['in the middle of its answer', (_: IncomingMessage, response: ServerResponse) => breakOff(response)],
  ])('%s is asked again what is only read', async (_, fail) => {
    const { engine, requests, listen } = await anEngine({ answer: afterResets(2, fail) })
    await listen()
    expect(await engine.containers(project)).toMatchObject([{ id: 'c1', service: 'synapse', state: 'running' }])
    expect(requests.filter((one) => one === 'GET /containers/json')).toHaveLength(3)
  })

  test.each([
    ['before it answers', reset],
    ['in the middle of its answer', (_: IncomingMessage, response: ServerResponse) => breakOff(response)],
  ])('each time %s is unavailable after a bounded number of requests', async (_, fail) => {
    const { engine, requests, listen } = await anEngine({ answer: fail })
    await listen()
    await expect(engine.projects('box-')).rejects.toMatchObject(unavailable)
    expect(requests.filter((one) => one === 'GET /containers/json').length).toBeOneOf([5, 6])
  })

  test('is asked again to stop, start and remove, which have no second effect', async () => {
    const { engine, requests, listen } = await anEngine({ answer: afterResets(1, reset) })
    await listen()
    await engine.stop(project, ['synapse'])
    await engine.start(project, ['synapse'])
    await engine.discard(project, ['synapse'])
    const changes = requests.filter((one) => !one.startsWith('GET'))
    expect(changes).toEqual(
      ['POST /containers/c1/stop', 'POST /containers/c1/start', 'DELETE /containers/c1'].flatMap((change) => [change, change]),
    )
  })

  test('is not asked again for what may have been done', async () => {
    const isCreation = ({ url }: IncomingMessage) => url?.startsWith('/containers/create')
    const { engine, requests, listen } = await anEngine({
      answer: (request, response) => (isCreation(request) ? reset(request) : void response.writeHead(404).end()),
    })
    await listen()
    await expect(engine.imageLibc('a:1')).rejects.toMatchObject(unavailable)
    expect(requests.filter((one) => one === 'POST /containers/create')).toHaveLength(1)
  })

  test('and does not listen for a moment is waited for, also with a change that was never sent', async () => {
    const { engine, requests, listen } = await anEngine({
      answer: (request, response) => json(response, request.method === 'POST' ? { Id: 'c1' } : {}, request.method === 'POST' ? 201 : 404),
    })
    const created = engine.createVolume(project, 'db', 'oak_db')
    await new Promise((resolve) => setTimeout(resolve, 50))
    await listen()
    await created
    expect(requests).toEqual(['POST /volumes/create'])
  })

  test('uses no connection twice: one of an engine that restarted is closed', async () => {
    const { engine, listen, sockets } = await anEngine({ answer: (_, response) => json(response, []) })
    await listen()
    await engine.networks(project)
    await engine.networks(project)
    expect(sockets.size).toBe(2)
  })
})

test('the client, which prints each request for its debug log, prints no connections', () => {
  expect(inspect({ agent: engineAgent() }, { showHidden: true, depth: null })).toBe('{ agent: EngineAgent }')
})

/** A frame of the program's standard output. */
const frame = (text: string): Buffer => {
  const head = Buffer.alloc(8)
  head[0] = 1
  head.writeUInt32BE(text.length, 4)
  return Buffer.concat([head, Buffer.from(text)])
}

/** An engine whose program prints a line and leaves its input unread, which resets the connection. */
const withProgram = (program: { Running: boolean; ExitCode: number | null }) =>
  anEngine({
    answer: (request, response) =>
      json(response, request.method === 'POST' ? { Id: 'e1' } : program, request.method === 'POST' ? 201 : 200),
    upgrade: (socket) => {
      socket.pause()
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
      socket.write(frame('printed\n'), () => setTimeout(() => socket.destroy(), 100))
    },
  })

describe('a program that exits before it has read its input', () => {
  const feed = () => {
    const stdin = new PassThrough()
    stdin.write('x'.repeat(1_000_000))
    return stdin
  }

  test('ends with its exit code and its output', async () => {
    const { engine, requests, listen } = await withProgram({ Running: false, ExitCode: 3 })
    await listen()
    expect(await engine.exec('box', ['psql'], { stdin: feed() })).toEqual({ exitCode: 3, stdout: 'printed\n', stderr: '' })
    expect(requests.filter((one) => one.includes('/exec/e1/start'))).toHaveLength(1)
  })

  test('is told from an engine that loses the connection of one that runs', async () => {
    const { engine, listen } = await withProgram({ Running: true, ExitCode: null })
    await listen()
    await expect(engine.exec('box', ['psql'], { stdin: feed() })).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
  })
})
