import { availableParallelism } from 'node:os'
import { problem } from '../../core/kit/index.ts'
import type { FilesDeps } from '../files/index.ts'
import { type ModuleRunsDeps, openModuleRuns } from '../module-runs/index.ts'
import { settingsOfRun, watchRunnable } from '../modules/index.ts'
import { approvedModule, loadApprovedModule } from '../store/index.ts'
import type { BaseDeps } from './base-deps.ts'

type Given = BaseDeps & Readonly<{ owner: string; files: FilesDeps }>

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
