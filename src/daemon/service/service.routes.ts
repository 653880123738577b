import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Registry } from 'prom-client'
import { type Clock, isoNow, problem, type Secret } from '../../core/kit/index.ts'
import { serviceContract as contract, type Readiness } from '../../core/service/index.ts'
import { type Config, listSettings } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import { encoded, serveContract } from '../http/index.ts'
import { docsPage, docsStyle } from './docs-page.ts'
import { assertMetricsToken } from './metrics-token.ts'
import { type NamedSeriesDeps, namedSeries } from './named-series.ts'

type RoutesDeps = Readonly<{
  db: Db
  clock: Clock
  registry: Registry
  version: string
  /** `installation.name` of the settings. */
  installation: string | undefined
  draining: AbortSignal
  config: Config
  /** The document of the API, in small steps. */
  openApi: () => Iterator<undefined, Record<string, unknown>>
  /** Required by `/metrics`. Without it the answer is open, so it has no names of boxes and hosts. */
  metricsToken: Secret | undefined
}>

export type ServiceDeps = RoutesDeps & NamedSeriesDeps

export const serviceRoutes = (deps: ServiceDeps) => {
  // Made by the first reader, and once: the document has 1.6 MB.
  const document = once(async () => {
    const all = await inSteps(deps.openApi())
    return { openApi: encoded(all), docs: docsPage(all) }
  })
  return serveContract(contract, {
    healthz: () => undefined,
    readyz: () => readiness(deps),
    metrics: ({ header }) => metricsText(deps, header('authorization')),
    listSettings: () => ({ settings: listSettings(deps.config) }),
    openApi: async () => (await document()).openApi,
    docs: async () => (await document()).docs,
    docsStyle: () => docsStyle,
  })
}

/** Throws UNAUTHENTICATED. */
async function metricsText({ metricsToken, registry, ...deps }: ServiceDeps, authorization: string | undefined): Promise<string> {
  if (!metricsToken) return registry.metrics()
  assertMetricsToken(metricsToken, authorization)
  const parts = [await registry.metrics()]
  for await (const part of namedSeries(deps)) parts.push(part)
  return parts.join('')
}

/** The thread does other work between the steps. */
async function inSteps<Result>(steps: Iterator<undefined, Result>): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await yieldToEventLoop()
  }
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** Throws UNAVAILABLE when a load balancer must not send requests here. */
async function readiness({ db, clock, version, installation, draining }: RoutesDeps): Promise<Readiness> {
  if (draining.aborted) throw problem('UNAVAILABLE', 'this replica is shutting down. fix: call another')
  const databaseError = await sql`select 1`.execute(db).then(
    () => undefined,
    (error: Error) => error,
  )
  if (databaseError)
    throw problem('UNAVAILABLE', 'The database does not answer. fix: check the log of the daemon', { cause: databaseError })
  return { ready: true, version, installation: installation ?? null, time: isoNow(clock), checks: { database: { ok: true } } }
}
