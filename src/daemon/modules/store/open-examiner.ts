import { scanInProcess } from '../../../node/module-package/index.ts'
import { testModule } from '../../../node/module-test/index.ts'
import { openSandbox } from '../../../node/sandbox/index.ts'
import type { StoreDeps } from './deps.ts'

/** Compiled files of the process and the threads, where they are not beside the sources. `testMs`: limit of all runs of one test. */
type Options = Readonly<{ scan?: string; sandbox?: string; testMs?: number }>

/** Scans packages in a process and tests them in a thread of their own, which end afterwards. A module may have 1,000 migrations of 2 s: its test is ended. */
export const openExaminer = ({ scan, sandbox, testMs = 60_000 }: Options = {}): Pick<StoreDeps, 'scan' | 'test'> => ({
  scan: (zip, signal) => scanInProcess(zip, { signal, ...(scan ? { program: scan } : {}) }),
  test: async (module, now) => {
    const one = openSandbox({ threads: 1, ...(sandbox ? { workerFile: sandbox } : {}) })
    const limit = AbortSignal.timeout(testMs)
    try {
      return await testModule({ ...one, run: (run, serve) => one.run(run, serve, limit) }, module, now)
    } catch (error) {
      if (!limit.aborted) throw error
      const message = `The test took longer than ${testMs / 1000} s and was ended.`
      return { ok: false, ran: [{ step: 'test', ok: false, ms: testMs, calls: 0, message }], ms: testMs, log: [] }
    } finally {
      await one.close()
    }
  },
})
