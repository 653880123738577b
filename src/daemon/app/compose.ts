import { authenticateAdmin, authenticateConsole } from '../admin/index.ts'
import { authenticateAutomation } from '../automation/index.ts'
import type { JobHandler } from '../db/index.ts'
import type { EdgeSide } from '../edge/index.ts'
import type { Cron, Loop } from '../feature/index.ts'
import { authenticateAgent } from '../hosts/index.ts'
import { type Authenticators, type HttpMetrics, pageToken, type Served } from '../http/index.ts'
import type { Limits } from '../limits/index.ts'
import { authenticateVendor, vendorAccess } from '../marketplace/index.ts'
import { authenticateDeveloper } from '../modules/index.ts'
import { runLoops } from '../work/index.ts'
import type { BaseDeps } from './base-deps.ts'
import { type Declared, type Deps, openDeps } from './deps.ts'
import { features } from './features.ts'

export type Composed = Readonly<{
  served: readonly Served[]
  crons: readonly Cron[]
  loops: readonly Loop[]
  authenticate: Required<Authenticators>
  metrics: HttpMetrics
  limits: Limits
  outermost: EdgeSide['outermost']
  /** Starts the loops; each promise resolves once its loop has released its work. */
  begin(): readonly Promise<void>[]
}>

/** Joins all features into a daemon; no loop runs before `begin`. */
export async function compose(base: BaseDeps): Promise<Composed> {
  const deps = await openDeps(base, () => declared)
  const declared = declarationsOf(deps)
  const loops = features.flatMap(({ loops }) => loops?.(deps) ?? [])
  for (const { metrics } of features) metrics?.(deps, deps.registry)
  return {
    served: features.flatMap(({ routes }) => routes?.(deps) ?? []),
    crons: declared.crons,
    loops,
    authenticate: {
      admin: authenticateAdmin(deps.admin),
      console: authenticateConsole(deps.admin),
      agent: authenticateAgent(deps.hosts),
      automation: authenticateAutomation({ ...base, automation: base.config.automation }),
      developer: authenticateDeveloper(base),
      platform: deps.platform,
      school: pageToken(deps.school),
      vendor: authenticateVendor(deps),
      vendorPage: pageToken(vendorAccess(base.config.baseUrl)),
    },
    metrics: deps.metrics,
    limits: deps.limits,
    outermost: deps.edge.outermost,
    begin: () => runLoops(deps, loops, base.draining),
  }
}

const declarationsOf = (deps: Deps): Declared => ({
  crons: features.flatMap(({ crons }) => crons?.(deps) ?? []),
  jobs: Object.assign({}, ...features.map(({ jobs }) => jobs?.(deps))) as Readonly<Record<string, JobHandler>>,
  cleanups: features.flatMap(({ cleanup }) => cleanup?.(deps) ?? []),
})
