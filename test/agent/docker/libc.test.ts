import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { connect, type Docker } from '../../../src/agent/docker/connect.ts'
import { libcOf } from '../../../src/agent/docker/images.ts'

/** An engine whose containers have one loader, and which keeps in mind how each was removed. */
function anEngine(loader: string) {
  const removed: unknown[] = []
  const container = {
    infoArchive: async ({ path }: { path: string }) => {
      if (path !== loader) throw Object.assign(new Error('no such file'), { statusCode: 404 })
      return Readable.from([])
    },
    remove: async (how: unknown) => void removed.push(how),
  }
  return { removed, docker: { getContainer: () => container, createContainer: async () => container } as unknown as Docker }
}

test('a look takes its container away with the volumes of its image, also the one that a killed look left', async () => {
  const { docker, removed } = anEngine('/lib64/ld-linux-x86-64.so.2')
  expect(await libcOf(docker, 'postgres:15')).toBe('glibc')
  expect(removed).toEqual([
    { force: true, v: true },
    { force: true, v: true },
  ])
})

/** A real server in place of the engine, with one loader in every image. Its own ends of the connections hold no process. */
async function aServedEngine(loader: string): Promise<Docker> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-libc-'))
  const server = createServer((request, response) => {
    const missing = request.method === 'HEAD' && !request.url?.includes(encodeURIComponent(loader))
    response.writeHead(missing ? 404 : request.url?.includes('create') ? 201 : 200, { 'Content-Type': 'application/json' })
    response.end(request.method === 'POST' ? '{"Id":"looked"}' : undefined)
  })
  // As the engine does: it never closes a connection of its own accord.
  server.keepAliveTimeout = 0
  server.on('connection', (socket) => socket.unref())
  await new Promise<void>((listens) => server.listen(join(folder, 'docker.sock'), listens))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })
  return connect({ dockerHost: `unix://${folder}/docker.sock` }).questions
}

const connectionsThatHold = () => process.getActiveResourcesInfo().filter((what) => what === 'PipeWrap').length

test('a look leaves no connection that would keep a program that is done from ending', async () => {
  const docker = await aServedEngine('/lib64/ld-linux-x86-64.so.2')
  const before = connectionsThatHold()
  expect(await libcOf(docker, 'postgres:15')).toBe('glibc')
  await expect.poll(connectionsThatHold).toBe(before)
})
