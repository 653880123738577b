import { driftReport, type HostId, type ManifestRevision, type ProbeResult, type VersionsReport } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import { type BoxRecord, installedColumns } from './box-record.ts'
import { boxesBySlugs, saveReport } from './boxes.repo.ts'
import type { BoxTable } from './boxes.tables.ts'
import { boxesDeclaredDead } from './lifecycle/ownership.ts'
import { newestManifest } from './manifests.ts'

type Deps = Readonly<{ clock: Clock }>

/** Takes in what an agent says about boxes of its own host. What is about another host's box, or from before a move, is passed over. */
export async function applyReports(deps: Deps, tx: Tx, hostId: HostId, reports: readonly VersionsReport[]): Promise<void> {
  if (reports.length === 0) return
  const current = await newestManifest(tx)
  const calledDead = await boxesDeclaredDead(tx, hostId)
  const boxes = await boxesBySlugs(
    tx,
    reports.map(({ slug }) => slug),
  )
  const opened: BoxRecord[] = []
  for (const report of reports) {
    const box = boxes.get(report.slug)
    if (box?.hostId !== hostId || calledDead.has(box.id)) continue
    if ((await storeReport(deps, tx, box, report, { current })) && isOpened(box, report)) opened.push(box)
  }
  for (const box of opened) await closeFenceAlerts(deps, tx, box) // last: it locks a stream that others wait for with a box in hand
}

/** Stores what runs in a box and compares it with the manifest at once. False when the report does not count. */
export async function applyReport(deps: Deps, tx: Tx, box: BoxRecord, report: VersionsReport, probe?: ProbeResult): Promise<boolean> {
  const saved = await storeReport(deps, tx, box, report, { current: await newestManifest(tx), probe })
  if (saved && isOpened(box, report)) await closeFenceAlerts(deps, tx, box)
  return saved
}

/** Of a box that changed hands nobody knows whether it was shut. */
const isOpened = ({ fence, reportedAt }: BoxRecord, { fenced }: VersionsReport): boolean =>
  !fenced && (fence !== null || reportedAt === null)

type Beside = Readonly<{ current: ManifestRevision | undefined; probe?: ProbeResult | undefined }>

async function storeReport({ clock }: Deps, tx: Tx, box: BoxRecord, report: VersionsReport, { current, probe }: Beside): Promise<boolean> {
  const reportedAt = receivedAt(clock, report)
  if (report.slug !== box.slug || report.ownershipEpoch !== box.ownershipEpoch) return false
  return saveReport(tx, box, reportedAt, {
    ...(report.handedOver ? {} : runningColumns(clock, current, box, report)),
    managed: report.managed ? 1 : 0,
    fenced: report.fenced ? 1 : 0,
    ...fenceColumns(box, report, reportedAt),
    last_report: JSON.stringify(report),
    ...(probe ? { last_probe: JSON.stringify(probe) } : {}),
  })
}

const closeFenceAlerts = ({ clock }: Deps, tx: Tx, { slug }: BoxRecord) =>
  closeAlerts(tx, clock, {
    subject: slug,
    kinds: ['fence_stuck', 'rollback_failed', 'restore_failed'],
    because: 'the box is open to its users again',
  })

/** Of a box that was handed over nothing runs, and what it said last stays: it says what will run again. */
const runningColumns = (clock: Clock, current: Beside['current'], box: BoxRecord, report: VersionsReport): Partial<BoxTable> => ({
  ...installedColumns(report.installed),
  ...(report.databaseBytes === undefined ? {} : { database_bytes: Math.round(report.databaseBytes) }),
  ...driftColumns(clock, current, box, report),
})

/** A fence that another holds, or that was put up anew, is another fence: its time begins again. */
function fenceColumns({ fence: known }: BoxRecord, { fenced, fence }: VersionsReport, reportedAt: string): Partial<BoxTable> {
  if (!fenced) return { fence_holder: null, fence_since: null, fence_overdue_at: null }
  const holder = fence?.holder ?? null
  const said = fence?.since ? new Date(fence.since) : undefined
  const since = said && !Number.isNaN(said.getTime()) && said.toISOString() <= reportedAt ? said.toISOString() : undefined
  if (known && known.holder === holder && (since === undefined || since === known.since)) return {}
  return { fence_holder: holder, fence_since: since ?? reportedAt, fence_overdue_at: null }
}

// The agent's clock may be ahead; a time to come would make the report fresh for ever.
function receivedAt(clock: Clock, { at }: VersionsReport): string {
  const now = isoNow(clock)
  const said = new Date(at)
  return Number.isNaN(said.getTime()) || said.toISOString() > now ? now : said.toISOString()
}

function driftColumns(clock: Clock, current: Beside['current'], { tier }: BoxRecord, { installed }: VersionsReport): Partial<BoxTable> {
  if (!current) return {}
  const drift = driftReport({ tier, installed, freshness: 'fresh' }, current.manifest, current.revision)
  return {
    drift_report: JSON.stringify(drift),
    drift_severity: drift.severity,
    drift_revision: current.revision,
    last_drift_check_at: isoNow(clock),
  }
}
