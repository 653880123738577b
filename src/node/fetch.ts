import { createServer } from 'node:net'

type Fetch = typeof globalThis.fetch

let ready: Promise<void> | undefined

/**
 * `fetch` that always settles. Node.js 20 loads its HTTP parser during the first connection and misses a peer that closes it meanwhile; the
 * call would then never settle.
 */
export const settlingFetch: Fetch = async (input, init) => {
  ready ??= oneExchange().catch(() => undefined)
  await ready
  return fetch(input, init)
}

/** Loads the parser with one exchange with a local listener. */
async function oneExchange(): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'))
  })
  try {
    await new Promise<void>((listens, fails) => server.once('error', fails).listen(0, '127.0.0.1', listens))
    const address = server.address()
    if (address !== null && typeof address === 'object') await fetch(`http://127.0.0.1:${address.port}/`)
  } finally {
    server.close()
  }
}
