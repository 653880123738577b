import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { elapsedMs } from '../kit/index.ts'
import type { VersionsReport } from './command-parts.ts'
import type { Freshness } from './drift.ts'
import { Service } from './names.ts'
import type { ProbeComponent, ProbeResult } from './probe.ts'

// Whether the chat of a box serves its users, as far as it is known. Every view, metric and alert takes it from here.

/** `down`: users cannot write. `degraded`: messages arrive, files do not, or a service restarts often. `maintenance`: an operator or a change closed it, or an operator restarts it. */
export const HealthState = z.enum(['running', 'degraded', 'down', 'maintenance', 'unknown'])
export type HealthState = z.infer<typeof HealthState>

export const BoxHealth = z.object({
  state: HealthState,
  /** Services that do not run and parts that failed their probe; the ones that matter most first. */
  failing: z.array(z.string()),
  /** Why it is not `running`, in one sentence. */
  why: z.string().nullable(),
  /** Since when it has this state; null where that is not known. */
  since: Timestamp.nullable(),
})
export type BoxHealth = z.infer<typeof BoxHealth>

/** The health by the last report of a box; without whether it can still be trusted. */
export type ReportedHealth = Readonly<{ state: Exclude<HealthState, 'unknown'>; failing: string[]; why: string | null }>

type Reported = Readonly<{
  /** An observed box may have an edge or a file store of another kind, which no report has. */
  managed: boolean
  /** A person or a change of the box closed it. */
  closedBy: string | null
  /** An operator restarts it, so that services which do not run are no failure. */
  isRestarting: boolean
  report: Pick<VersionsReport, 'services' | 'watch'>
  /** The last probe that the daemon ordered. */
  probe: Pick<ProbeResult, 'at' | 'components' | 'verdict'> | null
  /** When the services were read. A check probes first and reports then; what an earlier probe found may be over. */
  reportedAt: string
}>

type Known = Omit<Reported, 'report' | 'reportedAt'> &
  Readonly<{
    /** False where the box is not set up, or was removed: it has no health. */
    live: boolean
    freshness: Freshness
    report: Reported['report'] | null
    reportedAt: string | null
    /** The state that was stored with the last report, and since when. */
    stored: Readonly<{ state: HealthState; since: string }> | null
  }>

/** Without these no user can write. Without the object store, chat works and files do not. */
const essential: Readonly<Record<Service, boolean>> = { edge: true, synapse: true, postgres: true, minio: false }
const essentialParts: Readonly<Record<ProbeComponent, boolean>> = { chatApi: true, chatSync: true, database: true, objectStorage: false }

/** A check takes its report at most so long after its probe began. */
const maxCheckMs = 60_000

const unknownWhy: Readonly<Record<Exclude<Freshness, 'fresh'>, string>> = {
  never: 'its host has not reported it yet',
  stale: 'its host has not reported it for too long',
  offline: 'its host is offline',
  stopped: 'no host runs it',
}

/** The health of a live box; undefined for one that is not set up or was removed. */
export function healthOf({ live, freshness, report, reportedAt, stored, ...known }: Known): BoxHealth | undefined {
  if (!live) return undefined
  const unknown = (why: string): BoxHealth => ({ state: 'unknown', failing: [], why, since: null })
  if (freshness !== 'fresh') return unknown(unknownWhy[freshness])
  if (!report || reportedAt === null) return unknown(unknownWhy.never)
  const health = reportedHealth({ ...known, report, reportedAt })
  return { ...health, since: stored?.state === health.state ? stored.since : null }
}

/** The health that a report shows. */
export function reportedHealth(reported: Reported): ReportedHealth {
  const health = openHealth(reported)
  if (!reported.isRestarting || health.state === 'running' || health.state === 'maintenance') return health
  return { ...health, state: 'maintenance', why: 'an operator restarts it' }
}

function openHealth({ managed, closedBy, report: { services, watch }, probe, reportedAt }: Omit<Reported, 'isRestarting'>): ReportedHealth {
  if (closedBy !== null) return { state: 'maintenance', failing: [], why: `closed by ${closedBy}` }
  const isExpected = (service: Service) => managed || service === 'synapse' || (services[service]?.state ?? 'missing') !== 'missing'
  const stopped = Service.options.filter((service) => isExpected(service) && services[service]?.state !== 'running')
  if (stopped.length > 0) {
    const state = stopped.some((service) => essential[service]) ? 'down' : 'degraded'
    return { state, failing: stopped, why: stopped.map((service) => `${service} is ${services[service]?.state ?? 'missing'}`).join(', ') }
  }
  const isOfReport = probe !== null && elapsedMs(probe.at, reportedAt) <= maxCheckMs
  const newest = [isOfReport ? probe : undefined, watch?.check].flatMap((one) => one ?? []).toSorted((a, b) => (a.at < b.at ? 1 : -1))[0]
  const failed = newest ? failedParts(newest) : []
  if (failed.length > 0) {
    const state = failed.some(({ part }) => essentialParts[part]) ? 'down' : 'degraded'
    return { state, failing: failed.map(({ part }) => part), why: failed.map(({ part, error }) => `${part}: ${error}`).join('; ') }
  }
  const restarting = Service.options.filter((service) => (watch?.restarts[service] ?? 0) >= manyRestarts)
  if (restarting.length === 0) return { state: 'running', failing: [], why: null }
  const why = restarting.map((service) => `${service} restarted ${watch?.restarts[service]} times within 15 minutes`).join(', ')
  return { state: 'degraded', failing: restarting, why }
}

/** This number of restarts within 15 minutes is no accident. */
export const manyRestarts = 3

const failedParts = ({ components }: Pick<ProbeResult, 'components'>) =>
  (Object.entries(components) as [ProbeComponent, ProbeResult['components'][ProbeComponent]][])
    .filter(([, { ok }]) => !ok)
    .map(([part, { error = 'it failed' }]) => ({ part, error }))
    .toSorted((a, b) => Number(essentialParts[b.part]) - Number(essentialParts[a.part]))
