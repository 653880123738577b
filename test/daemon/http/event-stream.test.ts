import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Response } from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { Channel } from '../../../src/daemon/http/event-stream.ts'

/** An answer whose client takes nothing. */
async function untakenAnswer(): Promise<ServerResponse> {
  const server = createServer()
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  const asked = new Promise<ServerResponse>((resolve) => server.on('request', (_, response) => resolve(response)))
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }, (answer) => answer.pause())
  client.on('error', () => undefined).end()
  onTestFinished(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  return asked
}

test.each(['answer', 'socket'] as const)('what was ended takes nothing more, by way of its %s', async (way) => {
  const response = await untakenAnswer()
  response.flushHeaders()
  const { socket } = response
  if (!socket) throw new Error('the answer has no socket')
  const channel = new Channel(response as Response, way === 'socket' ? socket : response)
  // More than the system takes on the way, and less than a client is cut off for.
  while (!socket.writableNeedDrain) socket.write(Buffer.alloc(64 * 1024))
  channel.end()
  expect(channel.closed).toBe(true)
  const pending = socket.writableLength
  channel.write('data: late\n\n')
  expect(socket.writableLength).toBe(pending)
  expect(socket.destroyed).toBe(false)
})
