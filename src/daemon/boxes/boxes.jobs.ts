import { type Cron, defineCron } from '../feature/index.ts'
import { type CertificateDeps, checkCertificates } from './check-certificates.ts'
import { type DriftDeps, detectDrift } from './detect-drift.ts'
import { type QueryDeps, syncVersions } from './query-boxes.ts'
import { recordSizes } from './sizes.ts'

/** No job ever starts an update (spec 4.10). */
export const boxesJobs = (deps: QueryDeps & DriftDeps & CertificateDeps): Cron[] => [
  defineCron({
    key: 'tenant-box-drift-detection',
    expression: '7 * * * *',
    description: 'Compare the reported versions of every box with the manifest and store the drift',
    run: ({ signal }) => detectDrift(deps, signal),
  }),
  defineCron({
    key: 'tenant-box-version-sync',
    expression: '30 3 * * *',
    description: 'Read the running versions of all boxes from their agents',
    run: ({ signal }) => syncVersions(deps, signal),
  }),
  defineCron({
    key: 'box-sizes',
    expression: '50 3 * * *',
    description: 'Record the reported sizes of every box, one row per box and day',
    run: ({ signal }) => recordSizes(deps, signal),
  }),
  defineCron({
    key: 'box-certificates',
    expression: '20 6 * * *',
    description: 'Read the certificates of the public addresses of boxes, and alert two weeks before one ends',
    run: ({ signal }) => checkCertificates(deps, signal),
  }),
]
