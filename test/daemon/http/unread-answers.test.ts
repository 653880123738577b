import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { costs, endpoint, open, raw } from '../../../src/core/contract/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { aSmallApp } from '../../support/small-app.ts'

const large = endpoint({ method: 'GET', path: '/large', auth: open, cost: 'module', returns: raw, summary: 'A large answer' })

test('an answer that its caller does not read counts as one of its calls', async () => {
  const body = Buffer.alloc(16_000_000) // far more than the system takes over
  const { port, url } = await aSmallApp([serve(large, async () => ({ status: 200, headers: {}, body }))])
  const unread = Array.from({ length: costs.module.perCaller }, async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'readable')
    return socket
  })
  const [first] = await Promise.all(unread)
  const status = () => fetch(`${url}/large`).then(async (answer) => (await answer.arrayBuffer()) && answer.status)
  expect(await status()).toBe(429)
  first?.destroy()
  await expect.poll(status).toBe(200)
})
