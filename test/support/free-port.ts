import { createServer } from 'node:net'

// A port that was just given back may go to anyone who connects or listens in that moment. So these lie below those that the system gives away, each
// worker has some of its own, and none is given twice until all were.
const each = 1_700
const lane = 10_100 + (Number(process.env.VITEST_POOL_ID ?? 0) % 12) * each
let given = (process.pid * 41) % each

/** A port of this machine that nobody listens on, and that no other test of this run is given. */
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
