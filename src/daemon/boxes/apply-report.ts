import {
  driftReport,
  type HealthState,
  type HostId,
  type ManifestRevision,
  type ProbeResult,
  reportedHealth,
  type VersionsReport,
} from '../../core/boxes/index.ts'
import { type Clock, elapsedMs, isoNow } from '../../core/kit/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import { holdsOf, isRestart } from './box-holds.ts'
import { type BoxRecord, closedBy, installedColumns } from './box-record.ts'
import { boxesBySlugs, saveReport } from './boxes.repo.ts'
import type { BoxTable } from './boxes.tables.ts'
import { boxesDeclaredDead } from './lifecycle/ownership.ts'
import { newestManifest } from './manifests.ts'

/** A box in the transaction that stores a report on it. */
type BoxTx = Readonly<{ tx: Tx; clock: Clock; box: BoxRecord }>

/** Stores an agent's reports on boxes of its own host. Ignores reports on boxes of other hosts and from before a move. */
export async function applyReports(
  { tx, clock }: Pick<BoxTx, 'tx' | 'clock'>,
  hostId: HostId,
  reports: readonly VersionsReport[],
): Promise<void> {
  if (reports.length === 0) return
  const current = await newestManifest(tx)
  const calledDead = await boxesDeclaredDead(tx, hostId)
  const boxes = await boxesBySlugs(
    tx,
    reports.map(({ slug }) => slug),
  )
  const unfenced: BoxRecord[] = []
  for (const report of reports) {
    const box = boxes.get(report.slug)
    if (box?.hostId !== hostId || calledDead.has(box.id)) continue
    if ((await storeReport({ tx, clock, box }, report, { current })) && isUnfenced(box, report)) unfenced.push(box)
  }
  for (const box of unfenced) await closeFenceAlerts({ tx, clock, box }) // last: others lock a box before this stream
}

/** Stores a report and updates the drift. Returns false when the report is ignored. */
export async function applyReport(step: BoxTx, report: VersionsReport, probe?: ProbeResult): Promise<boolean> {
  const saved = await storeReport(step, report, { current: await newestManifest(step.tx), probe })
  if (saved && isUnfenced(step.box, report)) await closeFenceAlerts(step)
  return saved
}

/** True when the box was fenced before, or its fence is unknown after a change of hosts. */
const isUnfenced = ({ fence, reportedAt }: BoxRecord, { fenced }: VersionsReport): boolean =>
  !fenced && (fence !== null || reportedAt === null)

type ReportContext = Readonly<{ current: ManifestRevision | undefined; probe?: ProbeResult | undefined }>

async function storeReport({ tx, clock, box }: BoxTx, report: VersionsReport, { current, probe }: ReportContext): Promise<boolean> {
  const reportedAt = receivedAt(clock, report)
  if (report.slug !== box.slug || report.ownershipEpoch !== box.ownershipEpoch) return false
  const known = withLastWatch(box, report)
  const found = { report: known, probe: probe ?? box.probe, reportedAt }
  const isFailing = isFailure(healthOfReport(box, { ...found, isRestarting: false }).state)
  const isRestarting = isFailing && isRestart((await holdsOf(tx, clock, [box.id])).get(box.id))
  return saveReport(tx, box, {
    reportedAt,
    change: {
      ...(report.handedOver ? {} : runningColumns({ clock, box }, report, current)),
      managed: report.managed ? 1 : 0,
      fenced: report.fenced ? 1 : 0,
      ...fenceColumns(box, report, reportedAt),
      ...healthColumns(box, { ...found, isRestarting }),
      last_report: JSON.stringify(known),
      ...(probe ? { last_probe: JSON.stringify(probe) } : {}),
    },
  })
}

const closeFenceAlerts = ({ tx, clock, box: { slug } }: BoxTx) =>
  closeAlerts(tx, clock, {
    subject: slug,
    kinds: ['fence_stuck', 'box_down'],
    because: 'the fence was lifted',
  })

/** Not stored for a handed-over box: its last versions are those it will run again. */
const runningColumns = (
  reported: Pick<BoxTx, 'clock' | 'box'>,
  report: VersionsReport,
  current: ReportContext['current'],
): Partial<BoxTable> => ({
  ...installedColumns(report.installed),
  ...(report.databaseBytes === undefined ? {} : { database_bytes: Math.round(report.databaseBytes) }),
  ...driftColumns(reported, report, current),
})

/** An agent that restarts has not checked its boxes yet; what it found before still holds for a few checks. */
function withLastWatch({ report: last }: BoxRecord, report: VersionsReport): VersionsReport {
  const isRecent = last?.watch !== undefined && elapsedMs(last.watch.check.at, report.at) <= watchHoldsMs
  return report.watch || report.fenced || !isRecent ? report : { ...report, watch: last.watch }
}

const watchHoldsMs = 3 * 60_000

type Reported = Readonly<{ report: VersionsReport; probe: ProbeResult | null; reportedAt: string; isRestarting: boolean }>

/** The stored health. Its time starts again with another state. */
function healthColumns(box: BoxRecord, reported: Reported): Partial<BoxTable> {
  const { reportedAt } = reported
  const { state, why } = healthOfReport(box, reported)
  return {
    ...{ health: state, health_why: why, failing_since: isFailure(state) ? (box.failingSince ?? reportedAt) : null },
    ...(box.health?.state === state ? {} : { health_since: reportedAt }),
  }
}

function healthOfReport({ maintenance }: BoxRecord, { report, ...reported }: Reported) {
  const { managed, fenced, fence } = report
  return reportedHealth({ ...reported, report, managed, closedBy: closedBy({ maintenance, fenced, fence: fence ?? null }) })
}

const isFailure = (state: HealthState): boolean => state === 'down' || state === 'degraded'

/** A fence of another owner, or with another start, is a new fence: its time starts again. */
function fenceColumns({ fence: known }: BoxRecord, { fenced, fence }: VersionsReport, reportedAt: string): Partial<BoxTable> {
  if (!fenced) return { fence_holder: null, fence_since: null, fence_overdue_at: null }
  const holder = fence?.holder ?? null
  const reported = fence?.since ? new Date(fence.since) : undefined
  const since = reported && !Number.isNaN(reported.getTime()) && reported.toISOString() <= reportedAt ? reported.toISOString() : undefined
  if (known && known.holder === holder && (since === undefined || since === known.since)) return {}
  return { fence_holder: holder, fence_since: since ?? reportedAt, fence_overdue_at: null }
}

// The agent's clock may be ahead; a future time would keep the report fresh forever.
function receivedAt(clock: Clock, { at }: VersionsReport): string {
  const now = isoNow(clock)
  const reported = new Date(at)
  return Number.isNaN(reported.getTime()) || reported.toISOString() > now ? now : reported.toISOString()
}

function driftColumns(
  { clock, box: { tier } }: Pick<BoxTx, 'clock' | 'box'>,
  { installed }: VersionsReport,
  current: ReportContext['current'],
): Partial<BoxTable> {
  if (!current) return {}
  const drift = driftReport({ tier, installed, freshness: 'fresh' }, current.manifest, current.revision)
  return {
    drift_report: JSON.stringify(drift),
    drift_severity: drift.severity,
    drift_revision: current.revision,
    last_drift_check_at: isoNow(clock),
  }
}
