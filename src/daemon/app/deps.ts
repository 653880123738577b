import { api } from '../../core/api.ts'
import type { Checkpoint } from '../../core/audit/index.ts'
import { openApiInSteps } from '../../core/contract/index.ts'
import { newId } from '../../core/kit/index.ts'
import { buildVersion, packageVersion } from '../../node/index.ts'
import { consoleAccess } from '../admin/index.ts'
import { channelsOf, closeAuditBroken, makeSender, raiseAuditBroken } from '../alerts/index.ts'
import { openRevocations, openSigningKeys, type Revocations } from '../auth/index.ts'
import type { JobHandler } from '../db/index.ts'
import type { Cleanup, Cron } from '../feature/index.ts'
import { fileUsageOf } from '../files/index.ts'
import { makeMetrics } from '../http/index.ts'
import { makeMailer } from '../mail/index.ts'
import { nextMaintenance } from '../maintenance/index.ts'
import { moduleRunsDeps, modulesOfTenant, serviceDeps } from '../modules/index.ts'
import { openPaymentProvider } from '../payments/index.ts'
import { publishSignedHead } from '../rollouts/index.ts'
import { readMetricsToken } from '../service/index.ts'
import { spacesOf } from '../spaces/index.ts'
import type { BaseDeps } from './base-deps.ts'
import { companyLogin } from './company-login.ts'
import { fleetDeps } from './fleet-deps.ts'
import { tenantDeps } from './tenant-deps.ts'

/** Declarations of all features that some feature works on: crons, jobs, and the clean-ups of housekeeping. Complete before the first request. */
export type Declared = Readonly<{ crons: readonly Cron[]; jobs: Readonly<Record<string, JobHandler>>; cleanups: readonly Cleanup[] }>

/** The dependencies of all features. A feature whose needs are here by name gets them without a line of its own. */
export type Deps = Awaited<ReturnType<typeof openDeps>>

export async function openDeps(base: BaseDeps, declared: () => Declared) {
  const owner = newId(base.random, 'replica')
  const metrics = makeMetrics()
  const version = buildVersion()
  const revocations = await openRevocations(base)
  const shared = { ...base, owner, revocations, registry: metrics.registry }
  const tenant = await tenantDeps(shared)
  const moduleRuns = moduleRunsDeps({ ...shared, files: tenant.files })
  return {
    ...shared,
    metrics,
    declared,
    spacesOf,
    modulesOf: modulesOfTenant,
    nextMaintenance,
    openApi: () => openApiInSteps(api, { title: 'Tenantry', version: packageVersion() }),
    version,
    metricsToken: await readMetricsToken(base.config.metrics),
    fileUsageOf: fileUsageOf(tenant.files.quotas),
    ...(await operatorDeps(shared)),
    ...tenant,
    ...fleetDeps(shared),
    services: serviceDeps({ ...shared, counts: moduleRuns.counts }),
    moduleRuns,
    provider: base.provider ?? (await openPaymentProvider(base.config)),
  }
}

type Shared = BaseDeps & Readonly<{ revocations: Revocations }>

/** Dependencies of the features that serve operators. */
const operatorDeps = async (deps: Shared) => ({
  admin: {
    ...deps,
    keys: await openSigningKeys(deps, 'admin'),
    totpRequired: deps.config.totpRequired,
    console: consoleAccess(deps.config.baseUrl),
    baseUrl: deps.config.baseUrl,
    company: companyLogin(deps.config, deps.clock),
  },
  alerts: alertsDeps(deps),
  audit: auditDeps(deps),
})

const alertsDeps = ({ config, db, clock, random }: BaseDeps) => {
  const { alerts, baseUrl, timeZone } = config
  const send = makeSender({ clock, mailer: makeMailer(clock, config), daemonUrl: baseUrl, settings: alerts })
  return { db, clock, random, channels: channelsOf(alerts, timeZone), repeatAfterMs: alerts.repeatAfterMs, send }
}

/** Each signed head also goes to its rollout; a broken chain raises an alert. */
const auditDeps = (deps: BaseDeps) => ({
  ...{ db: deps.db, clock: deps.clock, log: deps.log, dataDir: deps.config.dataDir },
  signed: (head: Checkpoint) => publishSignedHead({ ...deps, onDone: deps.config.alerts.onDone }, head),
  broken: (facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>) => raiseAuditBroken(deps, facts),
  whole: (chain: string) => closeAuditBroken(deps, chain),
})
