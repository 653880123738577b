import { type Cron, defineCron } from '../feature/index.ts'
import { type DriftDeps, detectDrift } from './detect-drift.ts'
import { type QueryDeps, syncVersions } from './query-boxes.ts'

/** No job ever starts an update (spec 4.10). */
export const boxesJobs = (deps: QueryDeps & DriftDeps): Cron[] => [
  defineCron({
    key: 'tenant-box-drift-detection',
    expression: '7 * * * *',
    description: 'Compares the installed versions of every box with the manifest and stores the drift; asks no agent',
    run: ({ signal }) => detectDrift(deps, signal),
  }),
  defineCron({
    key: 'tenant-box-version-sync',
    expression: '30 3 * * *',
    description: 'Asks the agents of all online hosts what really runs in their boxes',
    run: ({ signal }) => syncVersions(deps, signal),
  }),
]
