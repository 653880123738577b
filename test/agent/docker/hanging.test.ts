import { createReadStream } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerEngine } from '../../../src/agent/docker/index.ts'
import type { ContainerEngine, Project } from '../../../src/agent/ports/index.ts'

// An engine that takes calls and never answers, and a client that never ends: neither may hold the agent for ever.

let folder: string
let silent: Server
let engine: ContainerEngine
let project: Project
const open = new Set<Socket>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-hanging-'))
  silent = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.resume()
  })
  await new Promise<void>((resolve) => silent.listen(join(folder, 'docker.sock'), resolve))
  await writeFile(join(folder, 'docker'), '#!/bin/sh\nsleep 60\n')
  await chmod(join(folder, 'docker'), 0o755)
  const shortly = { readMs: 100, changeMs: 100, pullMs: 100, composeReadMs: 100, composeChangeMs: 100 }
  engine = dockerEngine({ dockerHost: `unix://${folder}/docker.sock`, docker: join(folder, 'docker'), limits: shortly })
  project = { name: 'box-oak', folder, composeFile: join(folder, 'compose.yaml') }
})

afterAll(async () => {
  for (const socket of open) socket.destroy()
  silent.close()
  await rm(folder, { recursive: true, force: true })
})

const away = { code: 'DOCKER_UNAVAILABLE' }

test.each([
  ['containers', () => engine.containers(project)],
  ['stop', () => engine.stop(project, ['synapse'])],
  ['start', () => engine.start(project, ['synapse'])],
  ['localDigest', () => engine.localDigest('registry.test/a:1')],
  ['pin', () => engine.pin('registry.test/a:1', 'oak')],
  ['unpin', () => engine.unpin('oak')],
  ['resolve', () => engine.resolve('registry.test/a:1', {})],
  ['pull', () => engine.pull('registry.test/a:1', {})],
  ['logs', () => engine.logs('id', 5)],
  ['volumePath', () => engine.volumePath('v')],
  ['removeVolume', () => engine.removeVolume('v')],
  ['exec', () => engine.exec('id', ['true'])],
  ['info', () => engine.info()],
  ['up', () => engine.up(project, ['synapse'])],
  ['configHashes', () => engine.configHashes(project)],
  ['down', () => engine.down(project)],
])('%s of an engine that hangs is a failure', async (_, call) => {
  await expect(call()).rejects.toMatchObject(away)
})

test('a file that no program came to read is closed', async () => {
  const file = join(folder, 'database.dump')
  await writeFile(file, 'dump')
  const [unread, tooLate] = [createReadStream(file), createReadStream(file)]
  await expect(engine.exec('id', ['pg_restore'], { stdin: unread })).rejects.toMatchObject(away)
  await expect(engine.exec('id', ['pg_restore'], { stdin: tooLate, signal: AbortSignal.abort('stop') })).rejects.toBe('stop')
  expect([unread.destroyed, tooLate.destroyed]).toEqual([true, true])
})

test('resolving a tag leaves no connection open after an abort', async () => {
  const patient = dockerEngine({ dockerHost: `unix://${folder}/docker.sock` })
  const over = new AbortController()
  const called = new Promise<Socket>((resolve) => silent.once('connection', resolve))
  const asked = patient.resolve('registry.test/a:1', { signal: over.signal })
  const socket = await called
  const closed = new Promise((resolve) => socket.once('close', resolve))
  over.abort('over')
  await expect(asked).rejects.toBe('over')
  await closed
  await expect(patient.resolve('registry.test/a:1', { signal: over.signal })).rejects.toBe('over')
})
