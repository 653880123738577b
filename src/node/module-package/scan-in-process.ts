import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { finding } from '../../core/scan/index.ts'
import type { ScanReport } from './scan-package.ts'

const maxHeapMegabytes = 400
const defaultTimeoutMs = 60_000

type Options = Readonly<{ signal?: AbortSignal; timeoutMs?: number; program?: string }>

/**
 * Scans a package in a process of its own, which is ended afterwards. A thread is no wall: one allocation past its limit ends the whole process. A scan
 * that takes too long or too much memory has a violation: nothing unscanned passes.
 */
export function scanInProcess(zip: Buffer, options: Options = {}): Promise<ScanReport> {
  const { signal, timeoutMs = defaultTimeoutMs, program = fileURLToPath(new URL('./scan-program.js', import.meta.url)) } = options
  return new Promise<ScanReport>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    // Without the environment, which has secrets of the daemon.
    const child = fork(program, [], {
      env: {},
      execArgv: [`--max-old-space-size=${maxHeapMegabytes}`],
      stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    })
    const end = (settle: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      settle()
      child.kill('SIGKILL')
    }
    const aborted = () => end(() => reject(signal?.reason))
    const failed = (reason: string) => end(() => resolve(unscannable(reason)))
    const timer = setTimeout(() => failed('the scan took too long'), timeoutMs)
    signal?.addEventListener('abort', aborted, { once: true })
    child.once('message', (report) => end(() => resolve(report as ScanReport)))
    child.once('error', (error) => end(() => reject(error)))
    // V8 aborts a process that cannot get the memory it needs; the system kills it.
    child.once('exit', (code, killedBy) =>
      killedBy ? failed('the scan needs too much memory') : end(() => reject(new Error(`the process of the scan ended with code ${code}`))),
    )
    // It may end before it has read everything.
    child.stdin?.once('error', () => undefined)
    child.stdin?.end(zip)
  })
}

const unscannable = (reason: string): ScanReport => ({
  ok: false,
  violations: [finding('archive-unreadable', '', { detail: reason })],
  ...{ files: [], bytes: 0, checksum: '', manifest: null },
})
