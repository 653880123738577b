import type { Clock } from '../../../core/kit/index.ts'
import { migrationBound } from '../../../core/modules/index.ts'
import { openSandbox } from '../../../node/sandbox/index.ts'
import { workPlaces } from '../../http/index.ts'
import { RunCounts } from '../run-counts.ts'
import { cachedCode } from './code-cache.ts'
import type { LoadCode, ModuleRunsDeps } from './deps.ts'
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
