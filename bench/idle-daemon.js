import { readFileSync } from 'node:fs'
import { startDaemon, wait } from './daemon-process.js'

// Node.js gives memory back some seconds after the last work.
const settleMs = 20_000

/** Resident memory of a daemon on embedded defaults that nobody asks for anything. */
export async function idleDaemon() {
  const daemon = await startDaemon(18_431)
  try {
    await wait(settleMs)
    const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1])
    return [
      { what: 'idle daemon, resident memory', measured: `${Math.round(kib / 1024)} MiB`, reach: 'under 120 MB', ok: kib * 1024 < 120e6 },
    ]
  } finally {
    daemon.close()
  }
}
