import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dockerEngine } from '../../../src/agent/docker/index.ts'

// An engine that makes programs when the test says so: one that was asked for is ended whenever it comes into being.

type Program = { Running: boolean; Pid: number; ExitCode: number | null }

async function anEngine() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-exec-'))
  const program: Program = { Running: false, Pid: 0, ExitCode: null }
  const sockets = new Set<Socket>()
  const asked: string[] = []
  let created = ''
  let toCreate: ServerResponse | undefined
  let toStart: Socket | undefined
  const answerCreated = () => toCreate?.writeHead(201, { 'content-type': 'application/json' }).end('{"Id":"e1"}')
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.on('data', (part) => {
      created += part
    })
    if (request.url?.endsWith('/json')) return void response.setHeader('content-type', 'application/json').end(JSON.stringify(program))
    toCreate = response
  })
  server.on('upgrade', (request, socket: Socket) => {
    asked.push(`${request.method} ${request.url}`)
    toStart = socket
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(join(folder, 'docker.sock'), resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await rm(folder, { recursive: true, force: true })
  })
  const answerStarted = () => toStart?.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
  const looks = () => asked.filter((one) => one.endsWith('/json')).length
  const has = (what: string) => expect.poll(() => asked.some((one) => one.includes(what))).toBe(true)
  const engine = dockerEngine({ dockerHost: `unix://${folder}/docker.sock`, childEnvironment: { TENANTRY_OWNER: '/a' } })
  return { engine, program, answerCreated, answerStarted, asked, looks, has, created: () => JSON.parse(created || '{}') }
}

function aProcess(): { child: ChildProcess; ended: Promise<NodeJS.Signals | null> } {
  const child = spawn('sleep', ['60'])
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ended: new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal))) }
}

/** Up to where the engine was asked to start a program, and has not answered. */
async function anAskedStart() {
  const { engine, program, answerCreated, answerStarted, looks, has } = await anEngine()
  const abort = new AbortController()
  const ran = engine.exec('box', ['pg_dump'], { signal: abort.signal })
  await has('/containers/box/exec')
  answerCreated()
  await has('/exec/e1/start')
  return { program, answerStarted, looks, abort, ran }
}

const stages = ['before the engine answers', 'after its answer, before the program runs', 'while it runs'] as const

test.each(stages)('a program is ended that is let go of %s', async (stage) => {
  const { program, answerStarted, looks, abort, ran } = await anAskedStart()
  const { child, ended } = aProcess()
  const begin = () => Object.assign(program, { Running: true, Pid: child.pid })
  if (stage !== stages[0]) answerStarted()
  if (stage === stages[2]) begin()
  await new Promise((resolve) => setTimeout(resolve, 50))
  abort.abort('enough')
  await expect(ran).rejects.toBe('enough')
  if (stage !== stages[2]) {
    await expect.poll(looks).toBeGreaterThan(1)
    Object.assign(program, { Running: true, Pid: 0 }) // as engines say it for a moment
    await expect.poll(looks).toBeGreaterThan(looks())
    begin()
  }
  expect(await ended).toBe('SIGKILL')
})

test('an ended process is not signalled, nor is a later one with the same pid', async () => {
  const { program, answerStarted, looks, abort, ran } = await anAskedStart()
  answerStarted()
  const { child } = aProcess()
  Object.assign(program, { Running: false, Pid: child.pid, ExitCode: 0 })
  abort.abort('enough')
  await expect(ran).rejects.toBe('enough')
  await expect.poll(looks).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 250))
  expect([looks(), child.exitCode, child.signalCode]).toEqual([1, null, null])
})

test('what is let go of before there is a program is never started', async () => {
  const { engine, answerCreated, asked, has } = await anEngine()
  const abort = new AbortController()
  const ran = engine.exec('box', ['pg_dump'], { signal: abort.signal })
  await has('/containers/box/exec')
  abort.abort('enough')
  answerCreated()
  await expect(ran).rejects.toBe('enough')
  expect(asked).toEqual([expect.stringMatching(/containers\/box\/exec/)])
})

test('every program bears the name of its agent: by it the next one ends what a killed one left in a container', async () => {
  const { engine, created, answerCreated } = await anEngine()
  const abort = new AbortController()
  const ran = engine.exec('box', ['pg_dump'], { signal: abort.signal })
  await expect.poll(created).toMatchObject({ Cmd: ['pg_dump'], Env: ['TENANTRY_OWNER=/a'] })
  abort.abort('enough')
  answerCreated()
  await expect(ran).rejects.toBe('enough')
})
