import { type ArchivePart, lsnValue } from '../boxes/index.ts'

/** The parts of one box. `covered`: the last known moment at which its store had all log of a line. */
export type Archive = Readonly<{ parts: readonly ArchivePart[]; covered: Readonly<{ line: string; at: string }> | null }>

/** A base and the log after it without a gap. `at`: all that was committed until then is in it. */
export type ArchiveChain = Readonly<{ base: ArchivePart; logs: readonly ArchivePart[]; at: string }>

/** Moments that can be restored. */
export type ArchiveRange = Readonly<{ from: string; to: string }>

/**
 * The base and the log to restore a moment; undefined where no chain reaches it. Of several the newest base is taken: it needs the least log.
 */
export function chainTo(archive: Archive, to: string | 'latest'): ArchiveChain | undefined {
  const until = to === 'latest' ? undefined : to
  const chains = linesOf(archive.parts).flatMap((line) => {
    const bases = until === undefined ? line.bases : line.bases.filter(({ at }) => at <= until)
    return bases.flatMap((base) => chainFrom(line, base, { covered: archive.covered, until }) ?? [])
  })
  const isBetter = (one: ArchiveChain, best: ArchiveChain) =>
    to === 'latest' && one.at !== best.at ? one.at > best.at : one.base.at > best.base.at
  return chains
    .filter(({ at }) => until === undefined || at >= until)
    .reduce<ArchiveChain | undefined>((best, one) => (best && !isBetter(one, best) ? best : one), undefined)
}

/** The moments that can be restored, the newest first; ranges that meet on one line are one. */
export function archiveRanges({ parts, covered }: Archive): ArchiveRange[] {
  const ranges = new Map<string, ArchiveRange>()
  for (const line of linesOf(parts))
    for (const base of line.bases) {
      const chain = chainFrom(line, base, { covered, until: undefined })
      if (!chain) continue
      const end = `${base.line} ${chain.at}`
      const known = ranges.get(end)
      ranges.set(end, { from: known && known.from < base.at ? known.from : base.at, to: chain.at })
    }
  return [...ranges.values()].sort((a, b) => (a.to < b.to ? 1 : -1))
}

/** A moment of the archive, each as likely as another; `fraction` from 0 to 1. Undefined where there is none. */
export function momentAt(ranges: readonly ArchiveRange[], fraction: number): string | undefined {
  const spans = ranges.map(({ from, to }) => ({ fromMs: Date.parse(from), ms: Date.parse(to) - Date.parse(from) }))
  let left = fraction * spans.reduce((sum, { ms }) => sum + ms, 0)
  for (const { fromMs, ms } of spans) {
    if (left <= ms) return new Date(fromMs + Math.floor(left)).toISOString()
    left -= ms
  }
  return undefined
}

type Log = Readonly<{ part: ArchivePart; from: bigint; to: bigint }>

/** The parts of one line. A busy box makes about 2,000 a day: their positions are read once, and nothing compares each with each. */
type Line = Readonly<{
  bases: readonly ArchivePart[]
  /** By their beginning. */
  logs: readonly Log[]
  newest: ArchivePart | undefined
}>

function linesOf(parts: readonly ArchivePart[]): Line[] {
  const lines = new Map<string, { bases: ArchivePart[]; logs: Log[] }>()
  for (const part of parts) {
    const line = lines.get(part.line) ?? { bases: [], logs: [] }
    lines.set(part.line, line)
    if (part.kind === 'base') line.bases.push(part)
    else line.logs.push({ part, from: lsnValue(part.from), to: lsnValue(part.to) })
  }
  return [...lines.values()].map(({ bases, logs }) => ({
    ...{ bases, newest: furthestOf(logs)?.part },
    logs: logs.sort((a, b) => compared(a.from, b.from)),
  }))
}

const compared = <Value extends bigint | string>(a: Value, b: Value): number => (a < b ? -1 : a > b ? 1 : 0)

const furthestOf = (logs: readonly Log[]): Log | undefined =>
  logs.reduce<Log | undefined>((last, one) => (last && one.to <= last.to ? last : one), undefined)

type Reach = Readonly<{ covered: Archive['covered']; until: string | undefined }>

/** Follows the log from a base up to the first part that has the moment, or as far as it goes. */
function chainFrom({ logs, newest }: Line, base: ArchivePart, { covered, until }: Reach): ArchiveChain | undefined {
  // An idle box writes nothing, so its last part also has the later moments.
  const atOf = (part: ArchivePart) => (part === newest && covered?.line === part.line && covered.at > part.at ? covered.at : part.at)
  const complete = lsnValue(base.to)
  const ends = ({ part, to }: Log) => until !== undefined && to >= complete && atOf(part) >= until
  const chain: ArchivePart[] = []
  let position = lsnValue(base.from)
  let [furthest, last]: [Log | undefined, Log | undefined] = [undefined, undefined]
  for (let next = 0; ; ) {
    for (let log = logs[next]; log && log.from <= position; log = logs[++next]) {
      if (log.to <= position) continue
      if (!furthest || log.to > furthest.to) furthest = log
      if (ends(log) && (!last || log.to < last.to)) last = log
    }
    const found = last ?? furthest
    if (!found || found.to <= position) break
    chain.push(found.part)
    position = found.to
    if (last) break
  }
  const end = chain.at(-1)
  return end && position >= complete ? { base, logs: chain, at: atOf(end) } : undefined
}

type ArchiveRule = Readonly<{ days: number /** ISO. */; now: string }>

const dayMs = 24 * 60 * 60_000

/**
 * The parts that no moment of the last days needs: log that a later part has as well, bases that a newer one replaces, and all log before the
 * oldest base that is kept. Every moment of these days that could be restored before can be restored after, with the files of a later time of the
 * same window.
 */
export function expiredParts(parts: readonly ArchivePart[], { days, now }: ArchiveRule): string[] {
  const since = new Date(Date.parse(now) - days * dayMs).toISOString()
  return linesOf(parts).flatMap((line) =>
    expiredOfLine(line, since).flatMap(({ snapshotId, data }) => (data === undefined ? [snapshotId] : [snapshotId, data])),
  )
}

function expiredOfLine({ bases, logs }: Line, since: string): ArchivePart[] {
  const isUsed = logs.some(({ part }) => part.at > since)
  const oldest = bases
    .filter(({ at }) => at <= since)
    .reduce<ArchivePart | undefined>((last, one) => (last && last.at >= one.at ? last : one), undefined)
  const keptBases = bases.filter((base) => base.at > since || (isUsed && base === oldest))
  const first = keptBases
    .map(({ from }) => lsnValue(from))
    .reduce<bigint | undefined>((least, one) => (least === undefined || one < least ? one : least), undefined)
  // The first base of a line may still be on its way.
  const isNeeded = ({ to, part }: Log) => (first === undefined ? part.at > since : to > first)
  const kept = unreplaced(logs.filter(isNeeded))
  return [...bases.filter((base) => !keptBases.includes(base)), ...logs.filter((log) => !kept.has(log)).map(({ part }) => part)]
}

/** The parts without the log that a later part has as well. */
export function partsInUse(parts: readonly ArchivePart[]): ReadonlySet<ArchivePart> {
  const lines = linesOf(parts)
  return new Set(lines.flatMap(({ bases, logs }) => [...bases, ...[...unreplaced(logs)].map(({ part }) => part)]))
}

/** The log of which no other part has all. Of equal parts one stays. */
function unreplaced(logs: readonly Log[]): ReadonlySet<Log> {
  const kept: Log[] = []
  const furthestFirst = (a: Log, b: Log) =>
    compared(b.to, a.to) || compared(a.from, b.from) || compared(b.part.at, a.part.at) || compared(b.part.snapshotId, a.part.snapshotId)
  for (const log of logs.toSorted(furthestFirst))
    if (!kept.some((other) => other.from <= log.from && other.part.at >= log.part.at)) kept.push(log)
  return new Set(kept)
}

/** `2026-11-27 14:03` and the like, in UTC; undefined for what is no moment. */
export function readMoment(text: string): string | undefined {
  const [, day, time, seconds = ':00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(:\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/.exec(text.trim()) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const at = new Date(`${day}T${time}${seconds}${zone}`)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** JavaScript takes 30 February for 2 March. */
function isDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day)
}
