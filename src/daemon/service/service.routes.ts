import { sql } from 'kysely'
import type { Registry } from 'prom-client'
import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { serviceContract as contract, type Readiness } from '../../core/service/index.ts'
import type { Db } from '../db/index.ts'
import { serveContract } from '../http/index.ts'
import { docsPage, docsStyle } from './docs-page.ts'

export type ServiceDeps = Readonly<{
  db: Db
  clock: Clock
  registry: Registry
  version: string
  draining: AbortSignal
  openApi: Record<string, unknown>
}>

export const serviceRoutes = (deps: ServiceDeps) =>
  serveContract(contract, {
    healthz: () => undefined,
    readyz: () => readiness(deps),
    metrics: () => deps.registry.metrics(),
    openApi: () => deps.openApi,
    docs: () => docsPage(deps.openApi),
    docsStyle: () => docsStyle,
  })

/** Throws UNAVAILABLE when a load balancer must not send requests here. */
async function readiness({ db, clock, version, draining }: ServiceDeps): Promise<Readiness> {
  if (draining.aborted) throw problem('UNAVAILABLE', 'this replica is shutting down. fix: call another')
  const databaseError = await sql`select 1`.execute(db).then(
    () => undefined,
    (error: Error) => error,
  )
  if (databaseError)
    throw problem('UNAVAILABLE', 'The database does not answer. fix: check the log of the daemon', { cause: databaseError })
  return { ready: true, version, time: isoNow(clock), checks: { database: { ok: true } } }
}
