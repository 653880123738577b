import { scanInWorker } from '../../node/module-package/index.ts'
import { testModule } from '../../node/module-test/index.ts'
import { openSandbox } from '../../node/sandbox/index.ts'
import type { StoreDeps } from './deps.ts'

/** Compiled files of the threads, where they are not beside the sources. */
type WorkerFiles = Readonly<{ scan?: string; sandbox?: string }>

/** Scans and tests packages in threads of their own, which end afterwards. */
export const openExaminer = ({ scan, sandbox }: WorkerFiles = {}): Pick<StoreDeps, 'scan' | 'test'> => ({
  scan: (zip, signal) => scanInWorker(zip, { signal, ...(scan ? { workerFile: scan } : {}) }),
  test: async (module, now) => {
    const one = openSandbox({ threads: 1, ...(sandbox ? { workerFile: sandbox } : {}) })
    try {
      return await testModule(one, module, now)
    } finally {
      await one.close()
    }
  },
})
