import { type ArchivePart, lsnText, lsnValue } from '../../core/boxes/index.ts'
import { randomText } from '../../core/kit/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { ArchiveDeps, Opened } from './archive.types.ts'
import { describeBox } from './facts.ts'
import { hasSameLog, isThere, type Line, nextPosition, type Spool, segmentStart } from './spool.ts'

// The beginning of an archive: the session that keeps the log, and the line that it continues or begins.

/** Log that is kept for a store that does not answer; more would fill the disk. */
export const maxKeptBytes = 2n * 1024n * 1024n * 1024n

/** All of a box by which its description may change. */
export async function seenOf({ engine }: ArchiveDeps, box: LocalBox): Promise<string> {
  const containers = await engine.containers(box.project)
  return JSON.stringify([box, containers.map(({ id, service, image, volumes }) => [service, id, image, volumes]).sort()])
}

type Opening = Readonly<{ box: LocalBox; known: readonly ArchivePart[]; signal: AbortSignal }>

/** Keeps the log from now on, and continues the line of the spool if the log since then is complete. */
export async function openArchive(
  deps: ArchiveDeps,
  spool: Spool,
  { box, known, signal }: Opening,
): Promise<Opened & Readonly<{ isContinued: boolean }>> {
  const log = await deps.servers.holdLog(box, `tenantry_archive_${randomText(deps.random, 8)}`, signal)
  try {
    const seen = await seenOf(deps, box)
    const { facts, volume, data } = await describeBox(deps, box, log.systemId)
    const { timeline, flushed } = await log.position()
    const server = { dataFolder: facts.paths.database, timeline, segmentBytes: log.segmentBytes }
    const opened = { log, server, facts, data, box, volume, seen }
    const isContinued = await canContinue(spool, opened, { flushed, known })
    if (!isContinued) await beginLine(deps, spool, { ...opened, from: log.from })
    return { ...opened, isContinued }
  } catch (error) {
    await log.end()
    throw error
  }
}

type Reached = Readonly<{ flushed: bigint; known: readonly ArchivePart[] }>

/**
 * False also where host or volume were put back to an earlier state: the positions of the log are used again then, with other content. The store
 * has log that this spool never stored, or the database has other log than the spool.
 */
async function canContinue(spool: Spool, { log, server, volume }: Opened, { flushed, known }: Reached): Promise<boolean> {
  const line = await spool.line()
  if (!line || line.systemId !== log.systemId || line.timeline !== server.timeline || line.volume !== volume) return false
  const stored = lsnValue(line.stored)
  if (flushed < stored || flushed - stored > maxKeptBytes) return false
  const reached = lsnValue(line.storing ?? line.stored)
  // Its base went with a repository that was lost.
  if (line.baseAt !== undefined && !known.some(({ kind }) => kind === 'base')) return false
  if (known.some(({ kind, to }) => kind === 'log' && lsnValue(to) > reached && lsnValue(to) > stored)) return false
  const next = (await nextPosition(spool, server)) ?? segmentStart(server, stored)
  return (next >= flushed || (await isThere(server, next))) && hasSameLog(spool, server, stored)
}

type Beginning = Opened & Readonly<{ from: bigint }>

/** A new line begins with the oldest log that is kept; its base follows. */
export async function beginLine({ random }: ArchiveDeps, spool: Spool, { log, server, volume, from }: Beginning): Promise<Line> {
  await spool.clear()
  const line = {
    line: randomText(random, 20),
    ...{ systemId: log.systemId, timeline: server.timeline, volume },
    stored: lsnText(segmentStart(server, from)),
  }
  await spool.saveLine(line)
  return line
}
