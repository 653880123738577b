import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { isProblem, type Problem, printable, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import {
  commandTag,
  type Ended,
  missingPath,
  type ResticOptions,
  type Run,
  readCurrentKey,
  readSnapshots,
  readSummary,
  resticMaintenance,
  resticProblem,
  resticVersion,
  runRestic,
  runWaiting,
  searchPath,
  storeTimeoutOf,
  tagsOf,
  verifySnapshot,
} from '../../node/restic/index.ts'
import { ownedEnvironment } from '../journal/index.ts'
import type { Repository, SnapshotFacts, SnapshotRequest, SnapshotStore } from '../ports/index.ts'
import { behindGate } from './start-gate.ts'
import { asPattern, hostName, takeArchivePart } from './take-archive-part.ts'

/** `owner`: the agent's data folder, by which the next agent finds the children of a killed one. */
type Options = Omit<ResticOptions, 'childEnvironment'> & Readonly<{ owner: string; sync?: SyncDisk }>

/** The real snapshot store. Checks its programs at each `prepare`, never at start: an agent without restic still reports and probes. */
export function resticSnapshots({ owner, sync = syncDisk, ...input }: Options): SnapshotStore {
  const keys = new Map<string, string>()
  const options: ResticOptions = { ...input, keys, childEnvironment: (commandId) => ownedEnvironment(owner, commandId) }
  const { program = 'restic', cacheFolder } = options
  const timeoutMs = storeTimeoutOf(options)
  const care = resticMaintenance(options)
  const own = ownSnapshots(owner)

  const present = async (repository: Repository): Promise<string> => {
    const id = await care.identify(repository)
    if (keys.has(repository.repository)) return id
    const key = readCurrentKey(await runRestic(options, repository, { args: ['key', 'list', '--json', '--no-lock'], timeoutMs }))
    if (key !== undefined) keys.set(repository.repository, key)
    return id
  }
  const create = async (repository: Repository): Promise<string> => {
    // Another agent may have initialized it meanwhile.
    const failed = await runRestic(options, repository, { args: ['init', '--json'], timeoutMs }).then(
      () => undefined,
      (error: unknown) => error,
    )
    return present(repository).catch((error) => {
      throw failed ?? error
    })
  }

  return {
    ...care,
    version: () => resticVersion(program),
    prepare: async (repository) => {
      await resticVersion(program)
      await mkdir(cacheFolder, { recursive: true, mode: 0o700 })
      const repositoryId = await present(repository).catch((error) => {
        if (!repository.mayCreate || !isProblem(error, 'SNAPSHOT_STORE_LOST')) throw error
        return create(repository)
      })
      await care.addRecoverySlot(repository)
      return { repositoryId }
    },
    take: async (repository, request, signal) => {
      const facts = await take(options, repository, { ...request, signal })
      // A snapshot without a record is restored without its files; it is still complete.
      if (!request.foreign) await own.record(request.slug, facts.id).catch(() => undefined)
      return facts
    },
    takePart: (repository, request, signal) => takeArchivePart(options, repository, { ...request, signal }),
    isOwn: (slug, id) => own.has(slug, id).catch(() => false),
    ofCommand: async (repository, commandId) => {
      const args = ['snapshots', '--json', '--no-lock', '--tag', commandTag(commandId)]
      const { stdout } = await runRestic(options, repository, { args, timeoutMs })
      return readSnapshots(stdout).findLast(({ warm }) => !warm)
    },
    find: async (repository, id) => {
      const found = (await care.list(repository)).find((snapshot) => isNamed(snapshot.id, id))
      if (!found) await care.identify(repository)
      return found
    },
    restore: async (repository, { id, path, into }, signal) => {
      await writeBack(options, repository, { id, path, into, signal })
      // restic does not sync: after a power cut the journal must not say more than the disk has.
      await sync(into, ownedEnvironment(owner, ''), signal)
    },
  }
}

const isNamed = (full: string, id: string): boolean => full === id || (id.length >= 8 && full.startsWith(id))

/** `gate`: arguments that make restic wait. */
type Request = SnapshotRequest & Readonly<{ signal?: AbortSignal | undefined; gate?: readonly string[] }>

const notAllRead = 3

/**
 * A serving box may lose a file between listing and reading. A warm snapshot may be incomplete, a live one is taken again. An incomplete
 * snapshot is removed, where the store lets an agent do so.
 */
async function take(options: ResticOptions, repository: Repository, request: Request): Promise<SnapshotFacts> {
  const { commandId, warm, signal, onWaiting } = request
  const folder = join(options.cacheFolder, `gate-${encodeURIComponent(commandId)}`)
  const facts = await (request.sample
    ? behindGate({ folder, ready: request.sample, signal }, (gate) => backUp(options, repository, { ...request, gate }))
    : backUp(options, repository, request))
  const sample = await request.sample
  if (warm) return facts // never restored
  if (facts.files === 0) {
    await dropPartial(options, repository, [facts.id])
    throw problem('SNAPSHOT_FAILED', `The new snapshot ${facts.id.slice(0, 8)} in ${repository.repository} contains no file`)
  }
  try {
    await verifySnapshot(options, repository, { id: facts.id, commandId, sample, signal, onWaiting })
  } catch (error) {
    if (isProblem(error, 'SNAPSHOT_FAILED')) await dropPartial(options, repository, [facts.id])
    throw error
  }
  return facts
}

async function backUp(options: ResticOptions, repository: Repository, request: Request): Promise<SnapshotFacts> {
  const once = () => runWaiting(options, repository, backup(request))
  const first = await once()
  if (isWhole(first) || request.warm) return readSummary(first)
  const partial = new Set([readSummary(first).id])
  try {
    const last = request.live ? await once() : first
    if (isWhole(last)) return readSummary(last)
    partial.add(readSummary(last).id)
    throw incomplete(last, repository)
  } finally {
    await dropPartial(options, repository, [...partial])
  }
}

const isWhole = (ended: Ended): boolean => ended.exitCode === 0 && missingPath(ended) === undefined

function incomplete(ended: Ended, repository: Repository): Problem {
  const missing = missingPath(ended)
  return missing === undefined
    ? resticProblem({ ...ended, timedOut: false, missing: false }, repository)
    : problem('SNAPSHOT_FAILED', `the snapshot lacks ${missing}, which does not exist`)
}

function backup(request: Request): Run {
  const { commandId, paths, gate = [], signal, onWaiting } = request
  const args = ['backup', '--json', '--host', hostName, '--group-by', 'host', ...tagArguments(request), ...excludes(request), ...gate]
  return { args: [...args, '--', ...paths], commandId, signal, accept: [notAllRead], onWaiting }
}

const dropPartial = async (options: ResticOptions, repository: Repository, ids: readonly string[]): Promise<Ended | undefined> =>
  ids.length === 0
    ? undefined
    : runWaiting(options, repository, { args: ['forget', '--', ...ids], timeoutMs: storeTimeoutOf(options) }).catch(() => undefined)

const tagArguments = (request: SnapshotRequest): string[] => tagsOf(request).flatMap((tag) => ['--tag', tag])

const excludes = ({ exclude = [] }: SnapshotRequest): string[] => exclude.flatMap((path) => ['--exclude', asPattern(path)])

type RestoreInput = Readonly<{ id: string; path: string; into: string; signal?: AbortSignal | undefined }>

/** Restores a path of a snapshot into a folder; not yet synced to disk when it resolves. Throws RESTORE_FAILED. */
export async function writeBack(options: ResticOptions, repository: Repository, { id, path, into, signal }: RestoreInput): Promise<void> {
  await mkdir(into, { recursive: true, mode: 0o700 })
  const args = ['restore', '--json', '--target', into, '--', `${id}:${path}`]
  await readWithoutLock(options, repository, { args, signal }).catch((error) => {
    throw isProblem(error, 'SNAPSHOT_FAILED')
      ? problem('RESTORE_FAILED', `the snapshot ${id} was not written back: ${error.message}`, { cause: error })
      : error
  })
}

/**
 * A lock is a write into the store and may wait for others, which lengthens the downtime, and a full store refuses it. It only prevents a
 * concurrent prune; if packs were pruned meanwhile, restic fails and the restore is repeated with the lock.
 */
async function readWithoutLock(
  options: ResticOptions,
  repository: Repository,
  { args, signal }: Pick<Run, 'args' | 'signal'>,
): Promise<Ended> {
  try {
    return await runRestic(options, repository, { args: ['--no-lock', ...args], signal })
  } catch (error) {
    if (!isProblem(error, 'SNAPSHOT_FAILED')) throw error
    return await runWaiting(options, repository, { args, signal }).catch((second) => {
      // A failure to take the lock does not name the missing pack.
      if (!isProblem(second) || second.message === error.message) throw second
      throw problem(second.code, `${second.message}; and without the lock: ${error.message}`, { cause: second })
    })
  }
}

/** Syncs the file system of a folder to disk. Throws RESTORE_FAILED. */
export type SyncDisk = (folder: string, environment: Readonly<Record<string, string>>, signal?: AbortSignal) => Promise<void>

export const syncDisk: SyncDisk = async (folder, environment, signal) => {
  signal?.throwIfAborted()
  const { failed, stderr, shortMessage } = await execa('sync', ['-f', folder], {
    env: { PATH: searchPath(), ...environment },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    ...(signal ? { cancelSignal: signal } : {}),
  })
  signal?.throwIfAborted()
  if (!failed) return
  const output = printable(stderr.trim() || (shortMessage ?? '')).slice(0, 300)
  throw problem('RESTORE_FAILED', `${folder} cannot be synced to disk: ${output}`)
}

/** More than a box keeps in years. */
const maxSnapshots = 2_000

/**
 * The snapshots that this host took itself, one file for each box. A snapshot's id is the checksum of all of its content, so no other host can
 * make another snapshot of a recorded id.
 */
type OwnSnapshots = Readonly<{
  record(slug: string, id: string): Promise<void>
  has(slug: string, id: string): Promise<boolean>
}>

function ownSnapshots(folder: string): OwnSnapshots {
  const fileOf = (slug: string) => join(folder, 'own-snapshots', encodeURIComponent(slug))
  const read = async (slug: string) => ((await readIfThere(fileOf(slug))) ?? '').split('\n').filter(Boolean)
  return {
    record: async (slug, id) => writeFileAtomic(fileOf(slug), `${[...(await read(slug)), id].slice(-maxSnapshots).join('\n')}\n`),
    has: async (slug, id) => (await read(slug)).includes(id),
  }
}
