import { createServer } from 'node:net'

// Each worker has ports of its own: all of them below those that the system gives away, and above 10080, the last that fetch refuses to call.
const worker = Number(process.env.VITEST_POOL_ID ?? 1)
const lane = 11_000 + ((worker - 1) % 8) * 2_500
/** Files of one worker come one after another; neighbours begin elsewhere, should one have left a box behind. */
const turn = process.pid % 25

let next = lane + turn * 20
/** The three listeners of a box that is made without a daemon; no other box of this run gets the same. */
export function boxPorts(): Readonly<{ public: number; platform: number; probe: number }> {
  const first = next
  next += 3
  return { public: first, platform: first + 1, probe: first + 2 }
}

let nextSubnet = turn
/** The third byte of a subnet of this worker's own: the engine refuses networks that overlap, and two files may start the same stack. */
export const ownSubnet = (): number => 10 * ((worker - 1) % 8) + (nextSubnet++ % 10)

/** `count` consecutive free ports. */
export async function freePorts(count: number): Promise<number> {
  for (let first = lane + 500 + turn * 50; first + count <= lane + 2_500; first += count) {
    const taken = await Promise.all(Array.from({ length: count }, (_, n) => isTaken(first + n)))
    if (!taken.includes(true)) return first
  }
  throw new Error('no free ports')
}

const isTaken = (port: number) =>
  new Promise<boolean>((done) => {
    const server = createServer().once('error', () => done(true))
    server.listen(port, '127.0.0.1', () => server.close(() => done(false)))
  })
