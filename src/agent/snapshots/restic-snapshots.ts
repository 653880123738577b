import { mkdir } from 'node:fs/promises'
import { isProblem, type Problem, problem } from '../../core/kit/index.ts'
import {
  commandTag,
  type Ended,
  missingPath,
  type ResticOptions,
  type Run,
  readSnapshots,
  readSummary,
  resticCare,
  resticProblem,
  resticVersion,
  runRestic,
  runWaiting,
  storeTimeoutOf,
  tagsOf,
} from '../../node/restic/index.ts'
import { ownedEnvironment } from '../journal/index.ts'
import type { Repository, SnapshotFacts, SnapshotRequest, SnapshotStore } from '../ports/index.ts'
import { type SyncDisk, syncDisk } from './sync-disk.ts'
import { writeBack } from './write-back.ts'

/** Every snapshot is of one made-up host, so that it is found and continued from whichever machine the box lives on. */
const hostName = 'tenantry'

/** `owner`: whose children they are, so that the next agent can end what a killed one left: the agent's data folder. */
type Options = Omit<ResticOptions, 'childEnvironment'> & Readonly<{ owner: string; sync?: SyncDisk }>

/** The real snapshot store. Its programs are checked at each `prepare`, never at start: an agent without restic still reports and probes. */
export function resticSnapshots({ owner, sync = syncDisk, ...given }: Options): SnapshotStore {
  const options: ResticOptions = { ...given, childEnvironment: (commandId) => ownedEnvironment(owner, commandId) }
  const { program = 'restic', cacheFolder } = options
  const timeoutMs = storeTimeoutOf(options)
  const care = resticCare(options)

  return {
    ...care,
    version: () => resticVersion(program),
    prepare: async (repository) => {
      await resticVersion(program)
      await mkdir(cacheFolder, { recursive: true, mode: 0o700 })
      const look = () => runRestic(options, repository, { args: ['cat', 'config', '--json', '--no-lock'], timeoutMs, accept: [10] })
      if ((await look()).exitCode !== 0)
        await runRestic(options, repository, { args: ['init', '--json'], timeoutMs }).catch(async (error) => {
          // Another agent may have made it meanwhile.
          if (!isProblem(error, 'SNAPSHOT_FAILED') || (await look()).exitCode !== 0) throw error
        })
      await care.addRecoverySlot(repository)
    },
    take: (repository, request, signal) => take(options, repository, request, signal),
    ofCommand: async (repository, commandId) => {
      const args = ['snapshots', '--json', '--no-lock', '--tag', commandTag(commandId)]
      const { stdout } = await runRestic(options, repository, { args, timeoutMs })
      return readSnapshots(stdout).findLast(({ warm }) => !warm)
    },
    find: async (repository, id) => (await care.list(repository)).find((snapshot) => isNamed(snapshot.id, id)),
    restore: async (repository, id, path, into, signal) => {
      await writeBack(options, repository, { id, path, into, signal })
      // restic leaves it to the kernel. A step that says it is here must not outlive it in a power cut.
      await sync(into, ownedEnvironment(owner, ''), signal)
    },
  }
}

const isNamed = (full: string, id: string): boolean => full === id || (id.length >= 8 && full.startsWith(id))

const notAllRead = 3

/**
 * What serves may lose a file between listing and reading it. A warm snapshot only saves work, so it may lack some; a live one is taken
 * once more. One that lacks something is taken off the list again, where the store lets an agent do so.
 */
async function take(
  options: ResticOptions,
  repository: Repository,
  request: SnapshotRequest,
  signal?: AbortSignal,
): Promise<SnapshotFacts> {
  const once = () => runWaiting(options, repository, backup(request, signal))
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

function backup(request: SnapshotRequest, signal?: AbortSignal): Run {
  const { commandId, paths } = request
  const args = ['backup', '--json', '--host', hostName, '--group-by', 'host', ...tagArguments(request), ...excludes(request)]
  return { args: [...args, '--', ...paths], commandId, signal, accept: [notAllRead] }
}

const dropPartial = async (options: ResticOptions, repository: Repository, ids: readonly string[]): Promise<Ended | undefined> =>
  ids.length === 0
    ? undefined
    : runWaiting(options, repository, { args: ['forget', '--', ...ids], timeoutMs: storeTimeoutOf(options) }).catch(() => undefined)

const tagArguments = (request: SnapshotRequest): string[] => tagsOf(request).flatMap((tag) => ['--tag', tag])

// Patterns match names; these are names, whatever characters are in them.
const excludes = ({ exclude = [] }: SnapshotRequest): string[] =>
  exclude.flatMap((path) => ['--exclude', path.replaceAll(/[\\*?[\]]/g, '\\$&')])
