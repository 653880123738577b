import { createServer } from 'node:net'

type Fetch = typeof globalThis.fetch

let ready: Promise<void> | undefined

/**
 * `fetch` that always settles. That of Node.js 20 loads its parser while the first connection is made: a peer that closes it meanwhile, as
 * a proxy does whose program is just starting, goes unheard, and the call waits for ever or lets the process end without a word.
 */
export const settlingFetch: Fetch = async (input, init) => {
  ready ??= oneExchange().catch(() => undefined)
  await ready
  return fetch(input, init)
}

/** With a listener of our own, which closes only after it has answered; afterwards the parser is there. */
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
