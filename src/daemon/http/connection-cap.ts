import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { networkOf } from '../../core/admin/index.ts'
import { trustOf } from './app.ts'

/** `isShared`: many callers come from this address, as from a proxy. */
type Cap = Readonly<{ maxPerNetwork: number; isShared: (address: string) => boolean }>

/** Refuses connections of a network (/24, /56) that has its share open, so that one caller cannot take all connections of the server. */
export function capConnections(server: Server, { maxPerNetwork, isShared }: Cap): void {
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket
    if (address === undefined || isShared(address)) return
    const network = networkOf(address)
    const count = open.get(network) ?? 0
    if (count >= maxPerNetwork) return void socket.destroy()
    open.set(network, count + 1)
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1
      if (left > 0) open.set(network, left)
      else open.delete(network)
    })
  })
}

/** Addresses that many callers share: trusted proxies, and any proxy on the daemon's machine. */
export function sharedAddresses(trustedProxies: readonly string[]): (address: string) => boolean {
  const isTrusted = trustOf(trustedProxies)
  return (address) => /^(::ffff:)?127\.|^::1$/.test(address) || isTrusted(address)
}
