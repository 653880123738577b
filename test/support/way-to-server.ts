import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/** A proxy to a server such as `postgres://…` that a test can interrupt. */
export type WayToServer = Readonly<{
  url: string
  /** Open connections stay open but deliver nothing, in both directions. */
  silence(): void
  /** Breaks all connections, and refuses new ones. */
  cut(): void
  /** New connections pass again; silenced ones stay silent. */
  mend(): void
  close(): void
}>

export async function wayTo(url: string): Promise<WayToServer> {
  const to = new URL(url)
  const open = new Set<Socket>()
  let state: 'open' | 'silent' | 'cut' = 'open'
  const server = createServer((near) => {
    if (state === 'cut') return near.destroy()
    const far = connect(Number(to.port), to.hostname)
    join(near, far)
    join(far, near)
  })
  const join = (from: Socket, other: Socket) => {
    open.add(from)
    from.on('data', (bytes) => state === 'silent' || other.write(bytes))
    from.on('error', () => undefined)
    from.on('close', () => {
      open.delete(from)
      if (state !== 'silent') other.destroy()
    })
  }
  const breakAll = () => {
    for (const socket of open) socket.destroy()
  }
  const port = await freePort()
  await new Promise<void>((ready) => server.listen(port, '127.0.0.1', ready))
  const way = new URL(url)
  way.host = `127.0.0.1:${port}`
  return {
    url: way.href,
    silence: () => {
      state = 'silent'
    },
    cut: () => {
      state = 'cut'
      breakAll()
    },
    mend: () => {
      if (state === 'silent') for (const socket of open) socket.removeAllListeners('data')
      state = 'open'
    },
    close: () => {
      breakAll()
      server.close()
    },
  }
}
