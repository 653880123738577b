import { residentBytes, startDaemon, wait } from './daemon-process.js'
import { sized } from './size.js'

// Node.js gives memory back some seconds after the last work.
const settleMs = sized(20_000, 500)

// Node.js alone takes 43 MB of it. The contract, whose checks are made before the first request, takes as much; made on use, they would cost the
// first request of each kind its time.
const mostBytes = 135e6

/** Resident memory of a daemon on embedded defaults that nobody asks for anything. */
export async function idleDaemon() {
  const daemon = await startDaemon(18_431)
  try {
    await wait(settleMs)
    const bytes = residentBytes(daemon.pid)
    const reach = 'under 135 MB (43 of Node.js, 44 of the contract and its checks)'
    return [{ what: 'idle daemon, resident memory', measured: `${Math.round(bytes / 1e6)} MB`, reach, ok: bytes < mostBytes }]
  } finally {
    daemon.close()
  }
}
