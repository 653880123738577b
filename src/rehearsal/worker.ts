import { parentPort, workerData } from 'node:worker_threads'
import { isProblem } from '../core/kit/index.ts'
import type { RehearsalInput } from '../core/rollouts/index.ts'
import { openDatabase } from '../daemon/db/index.ts'
import { readFleet, rehearse } from './index.ts'
import { installSyncDisk } from './sync-disk.ts'

// Runs one rehearsal in a worker thread: gets its input as worker data and posts the result or a problem. It can be terminated at any time.

/** `scratch`: a folder that is removed when this thread has ended. */
type WorkerInput = RehearsalInput & Readonly<{ databaseUrl: string; scratch: string }>

async function main({ databaseUrl, ...input }: WorkerInput): Promise<void> {
  installSyncDisk()
  const { db, close } = openDatabase(databaseUrl)
  const fleet = await readFleet(db).finally(close)
  const rehearsal = await rehearse({ ...input, fleet, signal: new AbortController().signal })
  parentPort?.postMessage({ rehearsal })
}

main(workerData).catch((error) => {
  if (!isProblem(error)) throw error
  parentPort?.postMessage({ problem: { code: error.code, message: error.message, details: error.details } })
})
