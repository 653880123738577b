import type { JobHandler } from '../db/index.ts'
import type { HttpMetrics, Served } from '../http/index.ts'
import type { SealedColumn } from '../sealed/index.ts'
import type { Cron } from './cron.ts'
import type { Loop } from './loop.ts'

/** Deletes rows past their retention. Returns the count in words, such as `3 old tasks`. */
export type Cleanup = (signal: AbortSignal) => Promise<string>

/** Everything that the daemon knows of a feature. `Deps` is what its functions need; a part that a feature does not have is left out. */
export type Feature<Deps> = Readonly<{
  name: string
  /** Each contract of the feature joined to its handlers (`serveContract`). */
  routes?: (deps: Deps) => readonly Served[]
  /** Handlers of the job queue by topic. A handler runs at least once. */
  jobs?: (deps: Deps) => Readonly<Record<string, JobHandler>>
  /** Work at fixed times, run by one replica. */
  crons?: (deps: Deps) => readonly Cron[]
  /** Work beside requests, again and again. */
  loops?: (deps: Deps) => readonly Loop[]
  /** Retention: runs within the nightly cron `housekeeping`. */
  cleanup?: (deps: Deps) => readonly Cleanup[]
  metrics?: (deps: Deps, registry: HttpMetrics['registry']) => void
  /** Columns with sealed secrets, for `tenantryd rekey`. */
  sealed?: readonly SealedColumn[]
}>

/** Declares a feature. */
export const feature = <Deps>(declaration: Feature<Deps>): Feature<Deps> => declaration

/** The same feature for a caller with other dependencies: `depsOf` picks those that the feature needs. */
export function withDeps<Deps, AppDeps>(declared: Feature<Deps>, depsOf: (appDeps: AppDeps) => Deps): Feature<AppDeps> {
  const { name, sealed, routes, jobs, crons, loops, cleanup, metrics } = declared
  return {
    name,
    ...(sealed && { sealed }),
    ...(routes && { routes: (appDeps) => routes(depsOf(appDeps)) }),
    ...(jobs && { jobs: (appDeps) => jobs(depsOf(appDeps)) }),
    ...(crons && { crons: (appDeps) => crons(depsOf(appDeps)) }),
    ...(loops && { loops: (appDeps) => loops(depsOf(appDeps)) }),
    ...(cleanup && { cleanup: (appDeps) => cleanup(depsOf(appDeps)) }),
    ...(metrics && { metrics: (appDeps, registry) => metrics(depsOf(appDeps), registry) }),
  }
}
