import { asJson, problem } from '../../core/kit/index.ts'
import {
  archiveTags,
  baseFilesTags,
  type Ended,
  missingPath,
  type ResticOptions,
  readSummary,
  resticProblem,
  runWaiting,
  verifySnapshot,
} from '../../node/restic/index.ts'
import type { ArchivePartRequest, Repository, SnapshotFacts } from '../ports/index.ts'

/** Every snapshot has the same host name, so that any machine finds and continues it. */
export const hostName = 'tenantry'
/** Restic continues the last snapshot of a host name, and a base has none of the files of the others. */
const hostOfBases = 'tenantry-base'

/** Escapes pattern characters: these are names. */
export const asPattern = (path: string): string => path.replaceAll(/[\\*?[\]]/g, '\\$&')

const notAllRead = 3

type Request = ArchivePartRequest & Readonly<{ signal?: AbortSignal | undefined }>

/**
 * Takes a part of an archive. A file that vanished belongs to a later part, or to no moment at all; one that cannot be read fails the part. A base
 * is read as a whole: a file that changed within the same tick of its clock looks unchanged.
 */
export async function takeArchivePart(options: ResticOptions, repository: Repository, request: Request): Promise<SnapshotFacts> {
  const { slug, tags, paths, exclude, emptied = [], parent, signal } = request
  const areFiles = tags === 'files of a base'
  const isBase = areFiles || tags.kind === 'base'
  const patterns = [...exclude.map(asPattern), ...emptied.map((folder) => `${asPattern(folder)}/*`)]
  const args = [
    ...['backup', '--json', '--host', isBase ? hostOfBases : hostName, '--group-by', 'host'],
    ...(areFiles ? ['--force'] : parent === undefined ? [] : ['--parent', parent]),
    ...(areFiles ? baseFilesTags(slug) : archiveTags(slug, tags)).flatMap((tag) => ['--tag', tag]),
    ...patterns.flatMap((pattern) => ['--exclude', pattern]),
  ]
  const ended = await runWaiting(options, oneCore(repository), { args: [...args, '--', ...paths], signal, accept: [notAllRead] })
  const missing = missingPath(ended)
  if (missing !== undefined) throw problem('SNAPSHOT_FAILED', `the archive lacks ${missing}, which does not exist`)
  if (ended.exitCode !== 0 && !isOnlyVanished(ended)) throw resticProblem({ ...ended, timedOut: false, missing: false }, repository)
  const facts = readSummary(ended)
  if (areFiles) await verifySnapshot(options, oneCore(repository), { id: facts.id, commandId: '', signal })
  return facts
}

/** Users are on the same processors, and no user waits for a part. */
const oneCore = (repository: Repository): Repository => ({ ...repository, env: { ...repository.env, GOMAXPROCS: '1' } })

type ErrorLine = Readonly<{ message_type?: string; error?: Readonly<{ message?: string }> }>

/** True where all errors are of files that were removed while they were read. */
export function isOnlyVanished({ stdout, stderr }: Ended): boolean {
  const lines = `${stdout}\n${stderr}`.split('\n').flatMap((line) => (asJson(line) as ErrorLine | undefined) ?? [])
  const errors = lines.filter(({ message_type }) => message_type === 'error').map(({ error }) => error?.message ?? '')
  return errors.length > 0 && errors.every((message) => message.endsWith('no such file or directory'))
}
