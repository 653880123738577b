import { readdir } from 'node:fs/promises'
import type { ArchiveOrder, ArchiveReport } from '../../core/hosts/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import type { ExchangeArchives } from '../channel/index.ts'
import type { LocalBox, Repository } from '../ports/index.ts'
import type { ArchiveDeps } from './archive.types.ts'
import { type BoxArchive, boxArchive, makeSpools, removeSpool } from './box-archive.ts'

type LoopDeps = ArchiveDeps & Readonly<{ boxes: Pick<LocalBoxes, 'list'>; log: Logger }>

/** The daemon failed to answer. */
const againMs = 60_000
/** Less than a minute, so that a message is in the store a minute after it was sent. */
const storeEveryMs = 45_000
/** A part that the daemon does not know cannot be restored when this host is lost. */
const reportMs = 3_000
/** Credentials of a store may last one hour only. */
const secretsEveryMs = 40 * 60_000
/** A daemon answers only after the hello of the agent. */
const retryMs = 15_000
/** The first snapshot of a box makes its repository. */
const missingEveryMs = 60_000
/** At once: each is a restic, which takes a core. */
const parallel = 2
const maxPartsPerReport = 100
/** For all boxes: a daemon that was away for hours takes no larger body. The others follow seconds later. */
const maxPartsPerExchange = 2_000

type Archived = {
  archive: BoxArchive
  repository: Repository | undefined
  order: ArchiveOrder
  isPrepared: boolean
  isBusy: boolean
  dueMs: number
  report: ArchiveReport
}

const tickMs = 1_000

/**
 * Stores the log of all boxes of this host that have an archive, once a minute, until the signal aborts. The daemon may be away: the repositories
 * are kept in memory, and what was stored is reported once it answers.
 */
export async function runArchives(deps: LoopDeps, exchange: ExchangeArchives, signal: AbortSignal): Promise<void> {
  const { clock } = deps
  const archived = new Map<string, Archived>()
  const asking = asker(deps, archived, exchange)
  await makeSpools(deps)
  let dueMs = clock.monotonicMs()
  for (let askedMs = dueMs; !signal.aborted; await clock.sleep(tickMs, signal)) {
    const nowMs = clock.monotonicMs()
    const isUnreported = [...archived.values()].some(({ report }) => report.parts.length > 0)
    if (nowMs >= dueMs || (isUnreported && nowMs - askedMs >= reportMs)) {
      askedMs = nowMs
      dueMs = nowMs + (await asking(signal))
    }
    await storeDue(deps, archived, signal)
  }
  await Promise.allSettled([...archived.values()].map(({ archive }) => archive.end()))
}

/** Exchanges reports for orders. Returns the time until the next exchange. */
function asker(deps: LoopDeps, archived: Map<string, Archived>, exchange: ExchangeArchives): (signal: AbortSignal) => Promise<number> {
  const { clock, log } = deps
  let secretsMs = Number.NEGATIVE_INFINITY
  return async (signal) => {
    const nowMs = clock.monotonicMs()
    const areMissing = [...archived.values()].some(({ repository }) => repository === undefined)
    const secrets = nowMs - secretsMs >= (areMissing ? missingEveryMs : secretsEveryMs)
    const reports = nextReports([...archived.values()].map(({ report }) => report))
    try {
      let { boxes, nextInMs } = await exchange({ reports, secrets }, signal)
      forgetReported(archived, reports)
      const isNew = boxes.some(({ boxId }) => !archived.has(boxId))
      if (isNew && !secrets) ({ boxes, nextInMs } = await exchange({ reports: [], secrets: true }, signal))
      if (isNew || secrets) secretsMs = nowMs
      await follow(deps, archived, boxes)
      return nextInMs
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'cannot exchange the archives with the daemon')
      return archived.size === 0 ? retryMs : againMs
    }
  }
}

/** As much of the reports as one exchange takes. */
export function nextReports(reports: readonly ArchiveReport[]): ArchiveReport[] {
  let left = maxPartsPerExchange
  return reports.map((report) => {
    const parts = report.parts.slice(0, Math.min(maxPartsPerReport, left))
    left -= parts.length
    return { ...report, parts }
  })
}

function forgetReported(archived: ReadonlyMap<string, Archived>, reports: readonly ArchiveReport[]): void {
  for (const { boxId, parts } of reports) {
    const one = archived.get(boxId)
    if (one) one.report = { ...one.report, parts: one.report.parts.slice(parts.length) }
  }
}

/** Begins and ends archives as ordered. */
async function follow(deps: LoopDeps, archived: Map<string, Archived>, orders: readonly ArchiveOrder[]): Promise<void> {
  const ordered = new Map(orders.map((order) => [order.boxId, order]))
  for (const [boxId, { archive, order }] of archived) {
    if (ordered.has(boxId)) continue
    archived.delete(boxId)
    await archive.end().catch(() => undefined)
    deps.log.info({ slug: order.slug }, 'the archive of a box ended')
  }
  for (const order of orders) {
    const { boxId, slug, ownershipEpoch, snapshots } = order
    const known = archived.get(boxId)
    if (known) {
      known.order = order
      if (snapshots) Object.assign(known, { repository: snapshots, isPrepared: false })
      continue
    }
    const report = { boxId, ownershipEpoch, covered: null, parts: [], error: null }
    const fresh = { isPrepared: false, isBusy: false, dueMs: deps.clock.monotonicMs() }
    archived.set(boxId, { archive: boxArchive(deps, slug), repository: snapshots, order, report, ...fresh })
    deps.log.info({ slug }, 'the archive of a box begins')
  }
  await removeOtherSpools(deps, orders)
}

async function removeOtherSpools(deps: LoopDeps, orders: readonly ArchiveOrder[]): Promise<void> {
  const needed = new Set(orders.map(({ slug }) => encodeURIComponent(slug)))
  for (const name of await readdir(deps.folder).catch(() => [])) if (!needed.has(name)) await removeSpool(deps, decodeURIComponent(name))
}

/** Begins with the boxes that wait longest. */
async function storeDue(deps: LoopDeps, archived: ReadonlyMap<string, Archived>, signal: AbortSignal): Promise<void> {
  const nowMs = deps.clock.monotonicMs()
  const all = [...archived.values()]
  const free = parallel - all.filter(({ isBusy }) => isBusy).length
  const due = all.filter(({ isBusy, dueMs, repository }) => !isBusy && repository && dueMs <= nowMs).toSorted((a, b) => a.dueMs - b.dueMs)
  if (free <= 0 || due.length === 0) return
  const boxes = new Map((await deps.boxes.list().catch(() => [])).map((box) => [box.boxId, box]))
  for (const one of due.slice(0, free)) {
    const box = boxes.get(one.order.boxId)
    one.dueMs = nowMs + storeEveryMs
    if (!box || !one.repository) continue
    one.isBusy = true
    void storeOne(deps, one, { box, repository: one.repository, signal }).finally(() => {
      one.isBusy = false
    })
  }
}

type Storing = Readonly<{ box: LocalBox; repository: Repository; signal: AbortSignal }>

/** A box that was handed over is no longer this host's. */
async function storeOne({ snapshots, log }: LoopDeps, one: Archived, { box, repository, signal }: Storing): Promise<void> {
  const { ownershipEpoch } = one.order
  try {
    if (box.handedOver || box.ownershipEpoch > ownershipEpoch) return await one.archive.end()
    if (!one.isPrepared) await snapshots.prepare(repository)
    one.isPrepared = true
    const { parts, covered, error } = await one.archive.store(box, repository, signal)
    one.report = { ...one.report, ownershipEpoch, covered, parts: [...one.report.parts, ...parts], error: error ? errorOf(error) : null }
  } catch (error) {
    if (signal.aborted) return
    const reported = errorOf(error as Error)
    if (one.report.error?.message !== reported.message) log.warn({ slug: box.slug, err: error }, 'the archive of a box is not stored')
    one.report = { ...one.report, ownershipEpoch, error: reported }
  }
}

const errorOf = (error: Error): NonNullable<ArchiveReport['error']> => ({
  code: isProblem(error) ? error.code : 'INTERNAL',
  message: error.message.slice(0, 500),
})
