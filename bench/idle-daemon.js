import { residentBytes, startDaemon, wait } from './daemon-process.js'
import { sized } from './size.js'

// Node.js gives memory back some seconds after the last work.
const settleMs = sized(20_000, 500)

/** Resident memory of a daemon on embedded defaults that nobody asks for anything. */
export async function idleDaemon() {
  const daemon = await startDaemon(18_431)
  try {
    await wait(settleMs)
    const bytes = residentBytes(daemon.pid)
    return [{ what: 'idle daemon, resident memory', measured: `${Math.round(bytes / 1e6)} MB`, reach: 'under 120 MB', ok: bytes < 120e6 }]
  } finally {
    daemon.close()
  }
}
