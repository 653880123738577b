import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { finding } from '../../core/scan/index.ts'
import type { ScanReport } from './scan-package.ts'

/**
 * A parser that meets what it was not made for must not take the memory or the time of the daemon. They end the thread between two steps of its code:
 * one allocation of more than 16 MB past the limit ends the process. Code of the scan makes none.
 */
const resourceLimits = { maxOldGenerationSizeMb: 400, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
const defaultTimeoutMs = 60_000

type Options = Readonly<{ signal?: AbortSignal; timeoutMs?: number; workerFile?: string }>

/**
 * Scans a package in a worker thread of its own, which is ended afterwards. Bytes in shared memory are not copied for it. A scan that takes too long
 * or too much memory has a violation: nothing unscanned passes.
 */
export function scanInWorker(zip: Buffer, options: Options = {}): Promise<ScanReport> {
  const { signal, timeoutMs = defaultTimeoutMs, workerFile = fileURLToPath(new URL('./scan-worker.js', import.meta.url)) } = options
  return new Promise<ScanReport>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const worker = new Worker(workerFile, { workerData: zip, env: {}, argv: [], execArgv: [], resourceLimits })
    const end = (settle: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      settle()
      void worker.terminate()
    }
    const aborted = () => end(() => reject(signal?.reason))
    const failed = (reason: string) => end(() => resolve(unscannable(reason)))
    const timer = setTimeout(() => failed('the scan took too long'), timeoutMs)
    signal?.addEventListener('abort', aborted, { once: true })
    worker.once('message', (report: ScanReport) => end(() => resolve(report)))
    worker.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? failed('the scan needs too much memory') : end(() => reject(error)),
    )
    worker.once('exit', () => end(() => reject(new Error('the thread of the scan ended'))))
  })
}

const unscannable = (reason: string): ScanReport => ({
  ok: false,
  violations: [finding('archive-unreadable', '', { detail: reason })],
  ...{ files: [], bytes: 0, checksum: '', manifest: null },
})
