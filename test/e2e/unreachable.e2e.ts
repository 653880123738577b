import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from './support/programs.ts'

// What stands before a daemon that is just starting: it takes every connection, and closes it at once.
const closes = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.destroy()
})
let url: string

beforeAll(async () => {
  await new Promise<void>((done) => closes.listen(0, '127.0.0.1', done))
  const address = closes.address()
  url = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
})
afterAll(() => closes.close())

test.each([1, 2, 3])(
  'a peer that closes at once is told, time %i: Node.js loads its parser meanwhile and hears nothing of it',
  async () => {
    const told = await run('tenantry', ['boxes', 'list'], { TENANTRY_URL: url, TENANTRY_TOKEN: 'none' })
    expect(told).toMatchObject({ exitCode: 6, stderr: expect.stringContaining(`${url} does not answer`) })
  },
)
