import { mkdir } from 'node:fs/promises'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { Repository, SnapshotRequest, SnapshotStore } from '../ports/index.ts'
import { commandTag, readSnapshots, readSummary, tagsOf } from './restic-output.ts'
import { resticVersion } from './restic-version.ts'
import { type Ended, type ResticOptions, type Run, runRestic } from './run-restic.ts'

/** Every snapshot is of one made-up host, so that it is found and continued from whichever machine the box lives on. */
const hostName = 'tenantry'

/** The real snapshot store. Its programs are checked at each `prepare`, never at start: an agent without restic still reports and probes. */
export function resticSnapshots(options: ResticOptions): SnapshotStore {
  const { program = 'restic', lockTimeout = '10m', storeTimeoutMs = 60_000 } = options
  const locking = ['--retry-lock', lockTimeout]
  const restic = (repository: Repository, run: Run): Promise<Ended> => runRestic(options, repository, run)

  return {
    version: () => resticVersion(program),
    prepare: async (repository) => {
      await resticVersion(program)
      await mkdir(options.cacheFolder, { recursive: true, mode: 0o700 })
      const look = () => restic(repository, { args: ['cat', 'config', '--json', ...locking], timeoutMs: storeTimeoutMs, accept: [10] })
      if ((await look()).exitCode === 0) return
      await restic(repository, { args: ['init', '--json'], timeoutMs: storeTimeoutMs }).catch(async (error) => {
        // Another agent may have made it meanwhile.
        if (!isProblem(error, 'SNAPSHOT_FAILED') || (await look()).exitCode !== 0) throw error
      })
    },
    take: async (repository, request, signal) => {
      const args = [
        'backup',
        '--json',
        '--host',
        hostName,
        '--group-by',
        'host',
        ...locking,
        ...tagArguments(request),
        ...excludes(request),
      ]
      // What serves may lose a file between listing and reading it: a warm snapshot only saves work, so it may lack some.
      const accept = request.warm ? [3] : []
      const { commandId } = request
      return readSummary(await restic(repository, { args: [...args, '--', ...request.paths], commandId, signal, accept }))
    },
    ofCommand: async (repository, commandId) => {
      const args = ['snapshots', '--json', '--tag', commandTag(commandId), ...locking]
      const { stdout } = await restic(repository, { args, timeoutMs: storeTimeoutMs })
      return readSnapshots(stdout).findLast(({ warm }) => !warm)
    },
    find: async (repository, id) => {
      const { stdout } = await restic(repository, { args: ['snapshots', '--json', ...locking], timeoutMs: storeTimeoutMs })
      return readSnapshots(stdout).find((snapshot) => snapshot.id === id || (id.length >= 8 && snapshot.id.startsWith(id)))
    },
    restore: async (repository, id, path, into, signal) => {
      await mkdir(into, { recursive: true, mode: 0o700 })
      const args = ['restore', '--json', '--target', into, ...locking, '--', `${id}:${path}`]
      await restic(repository, { args, signal }).catch((error) => {
        throw isProblem(error, 'SNAPSHOT_FAILED')
          ? problem('RESTORE_FAILED', `the snapshot ${id} was not written back: ${error.message}`)
          : error
      })
    },
  }
}

const tagArguments = (request: SnapshotRequest): string[] => tagsOf(request).flatMap((tag) => ['--tag', tag])

// Patterns match names; these are names, whatever characters are in them.
const excludes = ({ exclude = [] }: SnapshotRequest): string[] =>
  exclude.flatMap((path) => ['--exclude', path.replaceAll(/[\\*?[\]]/g, '\\$&')])
