import { createServer } from 'node:net'

// A released port may be assigned to another process at once. So these ports are below the ephemeral range, each worker has its own
// block, and no port repeats until all were used.
const each = 1_700
const lane = 10_100 + (Number(process.env.VITEST_POOL_ID ?? 0) % 12) * each
let given = (process.pid * 41) % each

/** A free port of this machine that no other test of this run uses. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < each; tries++) {
    const port = lane + (given++ % each)
    if (await isFree(port)) return port
  }
  throw new Error(`all ports from ${lane} on are taken`)
}

const isFree = (port: number) =>
  new Promise<boolean>((tell) => {
    const server = createServer().once('error', () => tell(false))
    server.listen(port, '127.0.0.1', () => server.close(() => tell(true)))
  })
