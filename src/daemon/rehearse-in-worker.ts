import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type ProblemCode, problem } from '../core/kit/index.ts'
import type { Rehearsal } from '../core/rollouts/index.ts'
import type { Rehearse } from './rollouts/index.ts'

/** More than ten thousand boxes need; beyond it the thread ends and the daemon continues. */
const maxMegabytes = 2048

type Answer =
  | Readonly<{ rehearsal: Rehearsal }>
  | Readonly<{ problem: Readonly<{ code: ProblemCode; message: string; details?: { path: string; reason: string }[] }> }>

/** Runs rehearsals in a worker thread, so that a crash, high memory use or a cancelled request does not affect the daemon. */
export const rehearseInWorker =
  (databaseUrl: string, program: URL = new URL('../rehearsal/worker.js', import.meta.url)): Rehearse =>
  (input, signal) =>
    new Promise<Rehearsal>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const scratch = mkdtempSync(join(scratchDisk(), 'tenantry-rehearsal-'))
      const worker = new Worker(program, {
        workerData: { ...input, databaseUrl, scratch },
        resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
      })
      const end = (settle: () => void) => {
        signal.removeEventListener('abort', aborted)
        settle()
        // A thread that is ended runs no `finally`.
        void worker.terminate().finally(() => rmSync(scratch, { recursive: true, force: true }))
      }
      const aborted = () => end(() => reject(signal.reason))
      signal.addEventListener('abort', aborted, { once: true })
      worker.once('message', (answer: Answer) =>
        end(() => ('rehearsal' in answer ? resolve(answer.rehearsal) : reject(problemOf(answer.problem)))),
      )
      worker.on('error', (cause) => end(() => reject(broken(cause))))
      worker.once('exit', () => end(() => reject(broken())))
    })

/** A RAM disk, if the system has one with space: in a container it often has 64 MB. */
function scratchDisk(memoryDisk = '/dev/shm'): string {
  try {
    const { bavail, bsize } = statfsSync(memoryDisk)
    return bavail * bsize >= minScratchBytes ? memoryDisk : tmpdir()
  } catch {
    return tmpdir()
  }
}

const minScratchBytes = 1024 ** 3

const problemOf = ({ code, message, details }: Extract<Answer, { problem: unknown }>['problem']) =>
  problem(code, message, details ? { details } : {})

const broken = (cause?: unknown) =>
  problem(
    'UNAVAILABLE',
    'the rehearsal failed; the log of the daemon has the reason. fix: if it ran out of memory, rehearse fewer boxes (--target)',
    {
      cause,
    },
  )
