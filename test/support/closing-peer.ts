import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** The address of a proxy in front of a starting daemon: it accepts every connection and closes it at once. */
export async function closingPeer(): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.destroy()
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}
