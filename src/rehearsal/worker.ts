import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { isProblem } from '../core/kit/index.ts'
import type { RehearsalInput } from '../core/rollouts/index.ts'
import { openDatabase } from '../daemon/db/index.ts'
import { readFleet, rehearse } from './index.ts'
import { installSyncDisk } from './sync-disk.ts'

// A thread of its own: it is told what to play and from which database to copy, and tells how it ended. Whoever started it may end it at
// any moment.

type WorkerInput = RehearsalInput & Readonly<{ databaseUrl: string }>

/** A disk in memory, where the system has one. */
const memoryDisk = '/dev/shm'

async function main({ databaseUrl, ...given }: WorkerInput): Promise<void> {
  installSyncDisk()
  const { db, close } = openDatabase(databaseUrl)
  const fleet = await readFleet(db).finally(close)
  const scratch = existsSync(memoryDisk) ? { scratch: memoryDisk } : {}
  const rehearsal = await rehearse({ ...given, fleet, ...scratch, signal: new AbortController().signal })
  parentPort?.postMessage({ rehearsal })
}

main(workerData).catch((error) => {
  if (!isProblem(error)) throw error
  parentPort?.postMessage({ problem: { code: error.code, message: error.message, details: error.details } })
})
