import { createReadStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { sideBySide } from '../backup/index.ts'
import type { ContainerEngine, ExecOptions, LocalBox, RowCounts } from '../ports/index.ts'
import { type BoxView, runningId, viewBox } from './box-view.ts'
import { lockWaitMs, tablesNotKept, withHeldSnapshot } from './held-snapshot.ts'
import { countSql, parseCounts } from './row-counts.ts'
import { asSuperuser, connection, type DatabaseLogin, databaseLogin, errorLine, isForeign } from './sql.ts'

export const dumpFile = 'database.dump'
export const globalsFile = 'globals.sql'

/** Dump and globals into a folder, each with its own exit code. Dump and counts are of one moment, whoever writes meanwhile. */
export async function dumpDatabase(engine: ContainerEngine, box: LocalBox, folder: string, signal?: AbortSignal): Promise<RowCounts> {
  const view = await viewBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const run = (argv: string[], options: ExecOptions) => needProgram(engine, view, argv, options)
  const toFile = (argv: string[], name: string) => (within: AbortSignal) => run(argv, { stdoutFile: join(folder, name), signal: within })
  const options = ['-Fc', '--no-sync', `--lock-wait-timeout=${lockWaitMs}`]
  const globals = toFile(['pg_dumpall', '--globals-only', ...globalsConnection(asSuperuser(login))], globalsFile)
  const dump = (snapshot: string) => toFile([...inEnglish, 'pg_dump', ...options, `--snapshot=${snapshot}`, ...connection(login)], dumpFile)
  const held = { engine, view, login, signal }
  const counts = await withHeldSnapshot(held, countSql, (snapshot) => sideBySide([dump(snapshot), globals], signal))
  await needListable(run, box, join(folder, dumpFile), signal)
  return parseCounts(counts)
}

/** Of what the program says itself; the server's part of it is in the server's own language. */
const inEnglish = ['env', 'LC_ALL=C']

const globalsConnection = ({ user, database }: DatabaseLogin) => ['-w', '-h', '127.0.0.1', '-U', user, '-l', database]

async function needProgram(engine: ContainerEngine, view: BoxView, argv: string[], options: ExecOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await engine.exec(runningId(view, 'postgres'), argv, options)
  if (exitCode === 0) return stdout
  const program = argv.find((word) => /^pg_/.test(word))
  if (/no space left/i.test(stderr)) throw problem('DISK_FULL', `no space left for ${program} of ${view.box.slug}`)
  throw problem('SNAPSHOT_FAILED', `${program} of ${view.box.slug} ended with exit code ${exitCode}: ${whyFailed(stderr)}`)
}

const whyFailed = (stderr: string): string =>
  isForeign(stderr) && /query was: LOCK TABLE/i.test(stderr) ? `${errorLine(stderr)} (${tablesNotKept})` : errorLine(stderr)

/** A dump that cannot be listed is none, whatever the exit code said. */
async function needListable(
  run: (argv: string[], options: ExecOptions) => Promise<string>,
  box: LocalBox,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const { size } = await stat(path)
  const listed = size === 0 ? '' : await run(['pg_restore', '--list'], { stdin: createReadStream(path), ...(signal ? { signal } : {}) })
  if (!/^;\s+TOC Entries:/m.test(listed)) throw problem('SNAPSHOT_FAILED', `the dump of ${box.slug} (${size} bytes) cannot be listed`)
}
