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
  const chains = basesOf(archive).flatMap((base) => {
    if (to !== 'latest' && base.at > to) return []
    const chain = chainFrom(archive, base, to === 'latest' ? undefined : to)
    return chain && (to === 'latest' || chain.at >= to) ? [chain] : []
  })
  const isBetter = (one: ArchiveChain, best: ArchiveChain) =>
    to === 'latest' && one.at !== best.at ? one.at > best.at : one.base.at > best.base.at
  return chains.reduce<ArchiveChain | undefined>((best, one) => (best && !isBetter(one, best) ? best : one), undefined)
}

/** The moments that can be restored, the newest first; ranges that meet on one line are one. */
export function archiveRanges(archive: Archive): ArchiveRange[] {
  const ranges = new Map<string, ArchiveRange & Readonly<{ line: string }>>()
  for (const base of basesOf(archive)) {
    const chain = chainFrom(archive, base, undefined)
    if (!chain) continue
    const end = `${base.line} ${chain.at}`
    const known = ranges.get(end)
    ranges.set(end, { line: base.line, from: known && known.from < base.at ? known.from : base.at, to: chain.at })
  }
  return [...ranges.values()].map(({ from, to }) => ({ from, to })).sort((a, b) => (a.to < b.to ? 1 : -1))
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

const basesOf = ({ parts }: Archive): ArchivePart[] => parts.filter(({ kind }) => kind === 'base')

/** Follows the log from a base up to the first part that has the moment, or as far as it goes. */
function chainFrom({ parts, covered }: Archive, base: ArchivePart, until: string | undefined): ArchiveChain | undefined {
  const ofLine = parts.filter(({ kind, line }) => kind === 'log' && line === base.line)
  const newest = ofLine.reduce<ArchivePart | undefined>((last, one) => (last && !reachesFurther(one, last) ? last : one), undefined)
  // An idle box writes nothing, so its last part also has the later moments.
  const atOf = (part: ArchivePart) => (part === newest && covered?.line === part.line && covered.at > part.at ? covered.at : part.at)
  const logs: ArchivePart[] = []
  let position = lsnValue(base.from)
  const isComplete = () => position >= lsnValue(base.to)
  for (;;) {
    const next = ofLine.filter(({ from, to }) => lsnValue(from) <= position && lsnValue(to) > position)
    const best = next.reduce<ArchivePart | undefined>((found, one) => (found && !isPreferred(one, found) ? found : one), undefined)
    if (!best) break
    logs.push(best)
    position = lsnValue(best.to)
    if (until !== undefined && isComplete() && atOf(best) >= until) break
  }
  const last = logs.at(-1)
  return last && isComplete() ? { base, logs, at: atOf(last) } : undefined

  function isPreferred(one: ArchivePart, found: ArchivePart): boolean {
    const [has, had] = [one, found].map((part) => until !== undefined && atOf(part) >= until)
    if (has !== had) return has === true
    return has ? reachesFurther(found, one) : reachesFurther(one, found)
  }
}

const reachesFurther = (one: ArchivePart, other: ArchivePart): boolean => lsnValue(one.to) > lsnValue(other.to)

type ArchiveRule = Readonly<{ days: number /** ISO. */; now: string }>

const dayMs = 24 * 60 * 60_000

/**
 * The parts that no moment of the last days needs: log that a later part has as well, bases that a newer one replaces, and all log before the
 * oldest base that is kept. Every moment of these days that could be restored before can be restored after.
 */
export function expiredParts(parts: readonly ArchivePart[], { days, now }: ArchiveRule): string[] {
  const since = new Date(Date.parse(now) - days * dayMs).toISOString()
  return [...new Set(parts.map(({ line }) => line))].flatMap((line) => {
    const ofLine = parts.filter((part) => part.line === line)
    return expiredOfLine(ofLine, since).flatMap(({ snapshotId, data }) => (data === undefined ? [snapshotId] : [snapshotId, data]))
  })
}

function expiredOfLine(parts: readonly ArchivePart[], since: string): ArchivePart[] {
  const bases = parts.filter(({ kind }) => kind === 'base')
  const logs = parts.filter(({ kind }) => kind === 'log')
  const isUsed = logs.some(({ at }) => at > since)
  const oldest = bases
    .filter(({ at }) => at <= since)
    .reduce<ArchivePart | undefined>((last, one) => (last && last.at >= one.at ? last : one), undefined)
  const keptBases = bases.filter((base) => base.at > since || (isUsed && base === oldest))
  const first = keptBases
    .map(({ from }) => lsnValue(from))
    .reduce<bigint | undefined>((least, one) => (least === undefined || one < least ? one : least), undefined)
  // The first base of a line may still be on its way.
  const isNeeded = ({ to, at }: ArchivePart) => (first === undefined ? at > since : lsnValue(to) > first)
  const expired = logs.filter((log) => !isNeeded(log) || logs.some((other) => replaces(other, log)))
  return [...bases.filter((base) => !keptBases.includes(base)), ...expired]
}

/** All log of the one is in the other too. Of equal parts one stays. */
function replaces(other: ArchivePart, log: ArchivePart): boolean {
  if (other === log || lsnValue(other.from) > lsnValue(log.from) || lsnValue(other.to) < lsnValue(log.to) || other.at < log.at) return false
  const isEqual = other.from === log.from && other.to === log.to && other.at === log.at
  return !isEqual || other.snapshotId > log.snapshotId
}

/** `2026-11-27 14:03` and the like, in UTC; undefined for what is no moment. */
export function readMoment(text: string): string | undefined {
  const [, day, time, seconds = ':00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(:\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/.exec(text.trim()) ?? []
  if (day === undefined) return undefined
  const at = new Date(`${day}T${time}${seconds}${zone}`)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
