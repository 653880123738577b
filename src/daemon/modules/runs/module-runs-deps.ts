import { availableParallelism } from 'node:os'
import { type Clock, problem, type Random } from '../../../core/kit/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { Config } from '../../config/index.ts'
import type { Db } from '../../db/index.ts'
import type { FilesDeps } from '../../files/index.ts'
import type { Keyring } from '../../sealed/index.ts'
import { settingsOfRun } from '../module-settings.ts'
import { approvedModule, loadApprovedModule } from '../store/approved-modules.ts'
import { watchRunnable } from '../watch-runnable.ts'
import type { ModuleRunsDeps } from './deps.ts'
import { openModuleRuns } from './open-module-runs.ts'

type Given = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  keyring: Keyring
  config: Config
  owner: string
  files: FilesDeps
}>

/** Dependencies of runs of type A modules. Starts no thread before the first run. */
export function moduleRunsDeps(deps: Given): Omit<ModuleRunsDeps, 'callService'> {
  const { db, clock, files, config, owner } = deps
  const loadCode: ModuleRunsDeps['loadCode'] = async ({ moduleId, version }) => {
    const approved = await approvedModule(db, moduleId, version)
    if (!approved) throw problem('NOT_FOUND', `There is no approved module ${moduleId} ${version}.`)
    return loadApprovedModule({ ...files, dataDir: config.dataDir }, approved)
  }
  const threads = config.modules.threads ?? Math.max(1, availableParallelism() - 1)
  return {
    ...deps,
    ...openModuleRuns({ clock, threads, loadCode }),
    owner,
    watch: watchRunnable(deps),
    settingsOf: (db, installation, manifest) => settingsOfRun({ ...deps, db }, installation, manifest),
  }
}
