import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../core/kit/index.ts'
import { migrationBound } from '../../../core/modules/index.ts'
import { openSandbox } from '../../../node/sandbox/index.ts'
import { workPlaces } from '../../http/index.ts'
import { RunCounts } from '../run-counts.ts'
import type { LoadCode, ModuleCode, ModuleRunsDeps } from './deps.ts'
import { RunQueue } from './run-queue.ts'

/**
 * In one process: its threads are what a tenant must leave to others, and each replica has its own. A count over all replicas would cost each run two
 * statements.
 */
const perTenant = 4
const maxWaiting = 100

/** `threads`: runs at once in this process. `workerFile`: the compiled file of the threads, where it is not beside the sources. */
type Options = Readonly<{ clock: Clock; threads: number; loadCode: LoadCode; workerFile?: string }>

type Opened = Pick<ModuleRunsDeps, 'sandbox' | 'migrations' | 'migrationPlaces' | 'queue' | 'loadCode' | 'counts'>

/** The parts of a process that runs share. Starts no thread before the first run. */
export function openModuleRuns({ clock, threads, loadCode, workerFile }: Options): Opened {
  const worker = workerFile === undefined ? {} : { workerFile }
  return {
    sandbox: openSandbox({ threads, ...worker }),
    migrations: openSandbox({ threads: migrationBound.parallel, ...worker }),
    migrationPlaces: workPlaces({ clock }, { migration: migrationBound }),
    queue: new RunQueue({ slots: threads, perTenant, maxWaiting }),
    loadCode: cachedCode(loadCode),
    counts: new RunCounts(),
  }
}

const maxBytes = 64_000_000

const bytesOf = ({ files }: ModuleCode) => Object.values(files).reduce((sum, text) => sum + text.length, 1_000)

/** Keeps the code of the versions that ran last in memory. A version never changes, so an entry is never wrong. */
function cachedCode(load: LoadCode): LoadCode {
  const cache = new LRUCache<string, ModuleCode>({ maxSize: maxBytes, sizeCalculation: bytesOf })
  const loading = new Map<string, Promise<ModuleCode>>()
  const loadOnce = async (key: string, version: Parameters<LoadCode>[0]) => {
    try {
      const code = await load(version)
      cache.set(key, code)
      return code
    } finally {
      loading.delete(key)
    }
  }
  return async (version) => {
    const key = `${version.moduleId}@${version.version}`
    const found = cache.get(key) ?? loading.get(key)
    if (found) return found
    const pending = loadOnce(key, version)
    loading.set(key, pending)
    return pending
  }
}
