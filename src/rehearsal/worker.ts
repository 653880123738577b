import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { isProblem } from '../core/kit/index.ts'
import type { RehearsalInput } from '../core/rollouts/index.ts'
import { openDatabase } from '../daemon/db/index.ts'
import { readFleet, rehearse } from './index.ts'
import { installSyncDisk } from './sync-disk.ts'

// Runs one rehearsal in a worker thread: gets its input as worker data and posts the result or a problem. It can be terminated at any time.

type WorkerInput = RehearsalInput & Readonly<{ databaseUrl: string }>

/** A RAM disk, if the system has one. */
const memoryDisk = '/dev/shm'

async function main({ databaseUrl, ...input }: WorkerInput): Promise<void> {
  installSyncDisk()
  const { db, close } = openDatabase(databaseUrl)
  const fleet = await readFleet(db).finally(close)
  const scratch = existsSync(memoryDisk) ? { scratch: memoryDisk } : {}
  const rehearsal = await rehearse({ ...input, fleet, ...scratch, signal: new AbortController().signal })
  parentPort?.postMessage({ rehearsal })
}

main(workerData).catch((error) => {
  if (!isProblem(error)) throw error
  parentPort?.postMessage({ problem: { code: error.code, message: error.message, details: error.details } })
})
