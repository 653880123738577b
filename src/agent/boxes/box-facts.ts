import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import type { BoxFacts } from '../../core/boxes/index.ts'
import { type Clock, isProblem } from '../../core/kit/index.ts'
import type { ContainerEngine, ContainerState, DatabaseFacts, LibC, LocalBox } from '../ports/index.ts'
import { readCompose, readComposeFile } from './compose-file.ts'
import type { ComposeRecord } from './compose-record.ts'
import { type FileFacts, fileFactFinder } from './file-facts.ts'

/** Facts for the preflight beside versions. An unknown fact is null and never fails a report. */
export type FindFacts = (box: LocalBox, containers: readonly ContainerState[], database: DatabaseFacts | undefined) => Promise<BoxFacts>

type Deps = Readonly<{
  engine: ContainerEngine
  clock: Clock
  disk: Readonly<{ freeBytes(path: string): Promise<number> }>
  compose: ComposeRecord
}>

/** One per agent: caches expensive facts that rarely change between reports. */
export function factFinder(deps: Deps): FindFacts {
  const { engine, disk, compose } = deps
  const sizes = folderSizes(deps.clock)
  const libcs = new Map<string, LibC | null>()
  const fileFacts = fileFactFinder(engine)
  const bytesIn = async (containers: readonly ContainerState[], service: string) => {
    const volumes = containers.find((container) => container.service === service)?.volumes ?? []
    const found = await Promise.all(volumes.map((volume) => bytesOfVolume(engine, sizes, volume)))
    return volumes.length === 0 || found.includes(null) ? null : found.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
  }
  const libcOf = async (database: ContainerState | undefined) => {
    if (!database) return null
    const key = database.digest ?? database.id
    if (!libcs.has(key)) libcs.set(key, await engine.imageLibc(database.image))
    return libcs.get(key) ?? null
  }
  return async (box, containers, database) => {
    const written = readComposeFile(box.project.composeFile)
    const text = await written.catch(() => undefined)
    const postgres = containers.find(({ service }) => service === 'postgres')
    const orNull = <Value>(work: Promise<Value>): Promise<Value | null> => work.catch(() => null)
    const [libc, mediaBytes, objectBytes, freeDiskBytes, formerDatabases, file, composeChanged] = await Promise.all([
      orNull(libcOf(postgres)),
      orNull(bytesIn(containers, 'synapse')),
      orNull(bytesIn(containers, 'minio')),
      orNull(freeBytes({ engine, disk }, box, postgres)),
      orNull(formerDatabasesOf({ engine, sizes }, box)),
      written.then((file) => fileFacts(box, file, containers)).catch(refusedFile),
      text === undefined ? null : orNull(compose.isChanged(box, text)),
    ])
    const { schemaVersion = null, compatVersion = null, backgroundUpdates = null, collation = null, hotCopy = null } = database ?? {}
    const otherServices = text === undefined ? null : otherServicesIn(text, box)
    return {
      ...{ schemaVersion, compatVersion, backgroundUpdates, collation, hotCopy, libc },
      ...{ mediaBytes, objectBytes, freeDiskBytes, formerDatabases, otherServices, composeChanged },
      ...(file ?? { wouldRecreate: null, scaledServices: null, notRestorable: null }),
    }
  }
}

/** The preflight has to name a file that compose refuses, because an update would be refused too. */
const refusedFile = (error: unknown): FileFacts | null =>
  isProblem(error, 'COMPOSE_INVALID') ? { wouldRecreate: null, scaledServices: null, notRestorable: [error.message.slice(0, 500)] } : null

async function bytesOfVolume(engine: ContainerEngine, sizes: ReturnType<typeof folderSizes>, volume: string): Promise<number | null> {
  const folder = await engine.volumePath(volume)
  return folder === undefined ? null : sizes(folder)
}

/** Those that are still there. */
async function formerDatabasesOf(
  { engine, sizes }: Readonly<{ engine: ContainerEngine; sizes: FolderSizes }>,
  { formerDatabases = [] }: LocalBox,
): Promise<NonNullable<BoxFacts['formerDatabases']>> {
  const found = await Promise.all(
    formerDatabases.slice(-20).map(async (former) => {
      const folder = await engine.volumePath(former.volume)
      return folder === undefined ? [] : [{ ...former, bytes: await sizes(folder) }]
    }),
  )
  return found.flat()
}

/** Free space on the disk of the database volume, where a dump and a second database must fit. */
async function freeBytes(
  { engine, disk }: Pick<Deps, 'engine' | 'disk'>,
  box: LocalBox,
  postgres: ContainerState | undefined,
): Promise<number> {
  const volume = postgres?.volumes[0]
  const folder = volume === undefined ? undefined : await engine.volumePath(volume)
  return disk.freeBytes(folder ?? box.project.folder)
}

function otherServicesIn(text: string, box: LocalBox): string[] | null {
  try {
    return readCompose(text, box.project.name).otherServices.slice(0, 50)
  } catch {
    return null
  }
}

/** Media change slowly, so an hour-old size is accurate enough for an estimate. */
const freshMs = 60 * 60_000
/** A report waits this long for one folder; a later report uses the finished result. */
const maxWaitMs = 300
/** Larger folders are not measured. */
const maxEntries = 2_000_000

/** Size of a folder in bytes; null while unknown. */
type FolderSizes = (folder: string) => Promise<number | null>

/** Measures one folder at a time, in the background of reports. */
export function folderSizes(clock: Clock): FolderSizes {
  const known = new Map<string, { bytes: number | null; atMs: number }>()
  const underWay = new Map<string, Promise<void>>()
  const oneAtATime = pLimit(1)
  const measure = (folder: string): Promise<void> => {
    const walked = oneAtATime(async () => {
      const bytes = await walk(folder).catch(() => null)
      known.set(folder, { bytes, atMs: clock.monotonicMs() })
      underWay.delete(folder)
    })
    underWay.set(folder, walked)
    return walked
  }
  return async (folder) => {
    const before = known.get(folder)
    if (before && clock.monotonicMs() - before.atMs < freshMs) return before.bytes
    const enough = new AbortController()
    await Promise.race([underWay.get(folder) ?? measure(folder), clock.sleep(maxWaitMs, enough.signal)])
    enough.abort()
    return known.get(folder)?.bytes ?? null
  }
}

async function walk(folder: string): Promise<number | null> {
  let bytes = 0
  let entries = 0
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for await (const entry of await opendir(next)) {
      if (++entries > maxEntries) return null
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      else bytes += await sizeOf(path)
    }
  }
  return bytes
}

// A file deleted during the walk counts as 0.
const sizeOf = (path: string): Promise<number> =>
  lstat(path).then(
    ({ size }) => size,
    () => 0,
  )
