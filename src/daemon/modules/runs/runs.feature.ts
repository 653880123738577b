// Runs of type A modules: they receive events of their tenant, serve requests below their `apiPrefix` and migrate their documents.
// Everything that a run does commits in one transaction, while its installation and what it read are unchanged; else nothing of it.
// It installs nothing, and runs no version that was not approved or that is withdrawn.
import { isoIn, plural } from '../../../core/kit/index.ts'
import { moduleRunsContract } from '../../../core/modules/index.ts'
import { feature } from '../../feature/index.ts'
import { serveContract } from '../../http/index.ts'
import { deleteCountsBefore, deleteRunsBefore } from '../runs.repo.ts'
import { callModule } from './call-module.ts'
import type { ModuleRunsDeps } from './deps.ts'
import { deliveryLoop } from './run-deliveries.ts'

const runsMs = 30 * 86_400_000
const countsMs = 7 * 86_400_000

export const moduleRunsFeature = feature<ModuleRunsDeps>({
  name: 'module-runs',
  routes: (deps) =>
    serveContract(moduleRunsContract, {
      callModule: ({ actor, params, raw, signal }) => callModule(deps, { ...params, actor, raw, signal }),
    }),
  loops: (deps) => [
    deliveryLoop(deps),
    { name: 'store the health of modules', everyMs: 10_000, run: () => deps.counts.flush(deps), atEnd: () => deps.counts.flush(deps) },
  ],
  cleanup: (deps) => [
    async () => {
      await deleteCountsBefore(deps.db, isoIn(deps.clock, -countsMs).slice(0, 16))
      return plural(await deleteRunsBefore(deps.db, isoIn(deps.clock, -runsMs)), 'run of a module', 'runs of modules')
    },
  ],
})
