import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ArchivePart, isBaseDue, lsnText, lsnValue } from '../../core/boxes/index.ts'
import { isoNow, problem } from '../../core/kit/index.ts'
import { reserveBytes } from '../backup/index.ts'
import { fenceFile } from '../boxes/index.ts'
import type { LocalBox, Repository } from '../ports/index.ts'
import type { ArchiveDeps, Opened } from './archive.types.ts'
import { describeBox, writeFacts } from './facts.ts'
import { beginLine, maxKeptBytes, openArchive, seenOf } from './open-archive.ts'
import { copyLog, dropStored, firstPosition, type Line, nextPosition, type Spool, segmentStart, spoolIn } from './spool.ts'
import { takeBase } from './take-base.ts'

/** The parts that are new in the store. `covered`: the store has all that was committed until then. `error`: why there is no base of it. */
type Stored = Readonly<{
  parts: readonly ArchivePart[]
  covered: Readonly<{ line: string; at: string }>
  error: Error | undefined
}>

/** The archive of one box, in the hands of this agent. */
export type BoxArchive = Readonly<{
  /** Stores what the box has written since the last call. Throws SNAPSHOT_FAILED and the errors of the store; the next call continues. */
  store(box: LocalBox, repository: Repository, signal: AbortSignal): Promise<Stored>
  /** Lets go of the log; the spool stays for the next agent. */
  end(): Promise<void>
}>

/** A window is stored again each time it grows, and is a part of its own once a new one begins. */
const windowMs = 60 * 60_000
const windowBytes = 256n * 1024n * 1024n
/** A box that is not used writes some hundred bytes a minute, and a message writes more. So little waits, but not until it counts as behind. */
const quietBytes = 1024n
const maxQuietMs = 4 * 60_000
/** A base reads the whole database. */
const baseRetryMs = 15 * 60_000
export function boxArchive(deps: ArchiveDeps, slug: string): BoxArchive {
  const folder = join(deps.folder, encodeURIComponent(slug))
  const spool = spoolIn(folder)
  let ending = new AbortController()
  let running: Promise<unknown> | undefined
  let opened: Opened | undefined
  let openedFor: string | undefined
  let base: Promise<void> | undefined
  let baseFailed: Readonly<{ error: Error; atMs: number }> | undefined
  let made: ArchivePart[] = []
  let parent: string | undefined
  let windowSinceMs = deps.clock.monotonicMs()
  let isStoring = false
  let last: Readonly<{ covered: Stored['covered']; ms: number }> | undefined

  const close = async () => {
    const closing = opened
    opened = undefined
    ending.abort(new Error('the archive of the box ended'))
    ending = new AbortController()
    await base
    await closing?.log.end()
  }
  const store = async (box: LocalBox, repository: Repository, signal: AbortSignal): Promise<Stored> => {
    isStoring = false
    try {
      // A repository in the place of a lost one has no base.
      if (openedFor !== repository.repositoryId) await close()
      if (!opened) {
        openedFor = repository.repositoryId
        const known = await partsOfLine(deps, spool, repository)
        const { isContinued, ...now } = await openArchive(deps, spool, { box, known, signal })
        opened = now
        if (!isContinued) known.length = 0
        parent = known.findLast(({ kind }) => kind === 'log')?.snapshotId
        made = [...known.filter(({ kind }) => kind === 'base'), ...known.filter(({ kind }) => kind === 'log').slice(-maxReportedAgain)]
      }
      const within = AbortSignal.any([signal, ending.signal])
      within.throwIfAborted()
      return await storeLog(opened, { box, repository, signal: within })
    } catch (error) {
      // PostgreSQL may be stopped, restarted or replaced: the next call finds out what runs. A store that fails is waited for.
      if (!isStoring || ending.signal.aborted) await close().catch(() => undefined)
      else if (opened) opened = { ...opened, seen: '' }
      throw error
    }
  }

  type Storing = Readonly<{ box: LocalBox; repository: Repository; signal: AbortSignal }>

  const storeLog = async (now: Opened, { box, repository, signal }: Storing): Promise<Stored> => {
    const { log, server } = now
    // Read before the position: all that was committed until then is before it.
    const at = isoNow(deps.clock)
    const { timeline, flushed } = await log.position()
    if (timeline !== server.timeline) throw problem('SNAPSHOT_FAILED', `PostgreSQL of ${slug} changed its timeline`)
    const done = made
    let line = (await spool.line()) ?? (await beginLine(deps, spool, { ...now, from: log.from }))
    const newest = done.findLast((part) => part.kind === 'base' && part.line === line.line)
    if (newest && newest.at > (line.baseAt ?? '')) {
      line = { ...line, baseAt: newest.at }
      await spool.saveLine(line)
    }
    await assertSpace(deps, { server, flushed, stored: lsnValue(line.stored) })
    beginBase(now, { line, repository, signal })
    const covered = { line: line.line, at }
    const newBytes = flushed - lsnValue(line.stored)
    if (newBytes > 0n && newBytes < quietBytes && last?.covered.line === line.line && deps.clock.monotonicMs() - last.ms < maxQuietMs) {
      made = made.slice(done.length)
      return { parts: done, covered: last.covered, error: baseFailed?.error }
    }
    const current = newBytes > 0n ? await describedNow(now, box) : now
    const parts = newBytes > 0n ? [await storePart(current, { line, flushed, at, repository, signal })] : []
    last = { covered, ms: deps.clock.monotonicMs() }
    made = made.slice(done.length)
    return { parts: [...done, ...parts], covered, error: baseFailed?.error }
  }

  /** Images and folders of files are others after a restore or a rollback, during which PostgreSQL may run on. */
  const describedNow = async (now: Opened, box: LocalBox): Promise<Opened> => {
    const seen = await seenOf(deps, box)
    if (seen === now.seen) return now
    const { facts, volume, data } = await describeBox(deps, box, now.log.systemId)
    if (volume !== now.volume) throw problem('SNAPSHOT_FAILED', `the database of ${slug} is in another volume now`)
    opened = { ...now, ...{ facts, data, box, seen } }
    return opened
  }

  type Part = Readonly<{ line: Line; flushed: bigint; at: string; repository: Repository; signal: AbortSignal }>

  const storePart = async (now: Opened, { line, flushed, at, repository, signal }: Part): Promise<ArchivePart> => {
    const { server, facts, data } = now
    const next = (await nextPosition(spool, server)) ?? segmentStart(server, lsnValue(line.stored))
    await copyLog(spool, server, { from: next, to: flushed, signal })
    await writeFacts(spool.folder, facts)
    const from = (await firstPosition(spool, server)) ?? next
    const tags = { kind: 'log', line: line.line, from: lsnText(from), to: lsnText(flushed), at } as const
    const paths = [spool.folder, now.box.project.folder, ...data.map((one) => one.folder)]
    const { storing: _, ...former } = line
    // Killed from here on, the store may have more than was recorded.
    await spool.saveLine({ ...former, storing: lsnText(flushed) })
    isStoring = true
    const taken = await deps.snapshots.takePart(repository, { slug, tags, paths, exclude: excluded(now), parent }, signal)
    isStoring = false
    parent = taken.id
    await spool.saveLine({ ...former, stored: lsnText(flushed) })
    await now.log.release(segmentStart(server, flushed))
    if (deps.clock.monotonicMs() - windowSinceMs > windowMs || flushed - from > windowBytes) {
      await dropStored(spool)
      windowSinceMs = deps.clock.monotonicMs()
    }
    return { snapshotId: taken.id, addedBytes: taken.addedBytes, ...tags }
  }

  /** A base takes long for a large database, and the log must not wait for it. Without one the log restores nothing yet. */
  const beginBase = (now: Opened, { line, repository, signal }: Pick<Part, 'line' | 'repository' | 'signal'>) => {
    const isWaiting = baseFailed !== undefined && deps.clock.monotonicMs() - baseFailed.atMs < baseRetryMs
    if (base || isWaiting || made.some(({ kind }) => kind === 'base') || !isBaseDue(line.baseAt, isoNow(deps.clock))) return
    const take = async () => {
      const part = await takeBase(deps, now, { line, repository, folder: join(folder, 'base'), signal })
      made = [...made, part]
      baseFailed = undefined
    }
    base = take()
      .catch((error) => {
        baseFailed = { error, atMs: deps.clock.monotonicMs() }
      })
      .finally(() => {
        base = undefined
      })
  }

  return {
    store: (box, repository, signal) => {
      const stored = store(box, repository, signal)
      running = stored.catch(() => undefined)
      return stored
    },
    end: async () => {
      ending.abort(new Error('the archive of the box ended'))
      await running
      await close()
    },
  }
}

/** A recovered box must not come up fenced. Incomplete uploads of MinIO are useless. */
const excluded = ({ box: { project }, data }: Opened): string[] => [
  fenceFile(project),
  ...data.filter(({ service }) => service === 'minio').map(({ folder }) => join(folder, '.minio.sys', 'tmp')),
]

/** An agent that died may not have reported its last parts. */
const maxReportedAgain = 20

async function partsOfLine({ snapshots }: ArchiveDeps, spool: Spool, repository: Repository): Promise<ArchivePart[]> {
  const line = await spool.line()
  return (await snapshots.list(repository)).flatMap(({ archive }) => (archive && archive.line === line?.line ? archive : []))
}

type Kept = Readonly<{ server: Opened['server']; flushed: bigint; stored: bigint }>

/** The disk of the database keeps this free: its log waits there for the store and for a base. */
const databaseReserveBytes = 4 * reserveBytes

/** Ends the archive rather than fill a disk: the log goes, and a new line begins once the store answers again. */
async function assertSpace({ disk, folder }: ArchiveDeps, { server, flushed, stored }: Kept): Promise<void> {
  if (flushed - stored > maxKeptBytes)
    throw problem('SNAPSHOT_FAILED', 'the store has not answered for so long that the log is kept no more')
  if ((await disk.freeBytes(folder)) < reserveBytes) throw problem('DISK_FULL', `less than 256 MB are free at ${folder}`)
  if ((await disk.freeBytes(server.dataFolder)) < databaseReserveBytes)
    throw problem('DISK_FULL', `less than 1 GB is free at ${server.dataFolder}`)
}

export const removeSpool = ({ folder }: Pick<ArchiveDeps, 'folder'>, slug: string): Promise<void> =>
  rm(join(folder, encodeURIComponent(slug)), { recursive: true, force: true })

export const makeSpools = async ({ folder }: Pick<ArchiveDeps, 'folder'>): Promise<void> =>
  void (await mkdir(folder, { recursive: true, mode: 0o700 }))
