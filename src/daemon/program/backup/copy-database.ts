import { constants } from 'node:fs'
import { chmod, copyFile, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { sql } from 'kysely'
import { printable, problem } from '../../../core/kit/index.ts'
import { syncFile, syncFolder } from '../../../node/index.ts'
import { openDatabase, postgresEnvironment } from '../../db/index.ts'

type Copy = Readonly<{ url: string; file: string; signal: AbortSignal }>

/** Writes the database to a file as it is at one moment, while daemons go on. Throws NOT_FOUND, CONFIG, DISK_FULL or UNAVAILABLE. */
export const dumpDatabase = (copy: Copy): Promise<void> => (copy.url.startsWith('sqlite:') ? dumpSqlite(copy) : dumpPostgres(copy))

/** Fills an empty database from such a file. It is there whole or not at all. */
export const loadDatabase = (copy: Copy): Promise<void> => (copy.url.startsWith('sqlite:') ? loadSqlite(copy) : loadPostgres(copy))

export const sqliteFile = (url: string): string | undefined =>
  url.startsWith('sqlite:') && url !== 'sqlite::memory:' ? resolve(url.slice('sqlite:'.length)) : undefined

async function dumpSqlite({ url, file }: Copy): Promise<void> {
  const { db, close } = openDatabase(url)
  try {
    await sql`vacuum into ${file}`.execute(db)
  } finally {
    await close()
  }
  await chmod(file, 0o600)
}

async function loadSqlite({ url, file }: Copy): Promise<void> {
  const path = sqliteFile(url)
  if (path === undefined) throw problem('CONFIG', 'A database in memory cannot be restored. fix: set TENANTRY_DATABASE to a file')
  const aside = `${path}.restoring`
  try {
    await copyFile(file, aside, constants.COPYFILE_FICLONE)
    await chmod(aside, 0o600)
    await syncFile(aside)
    await rename(aside, path)
  } finally {
    await rm(aside, { force: true })
  }
  await syncFolder(dirname(path))
}

const asIs = ['--no-owner', '--no-privileges']

const dumpPostgres = ({ url, file, signal }: Copy): Promise<void> =>
  runClient({ program: 'pg_dump', args: ['--format=custom', '--compress=1', ...asIs, `--file=${file}`], url, signal })

const loadPostgres = ({ url, file, signal }: Copy): Promise<void> => {
  const { PGDATABASE = '' } = postgresEnvironment(url)
  const args = ['--single-transaction', '--exit-on-error', ...asIs, `--dbname=${PGDATABASE}`, file]
  return runClient({ program: 'pg_restore', args, url, signal })
}

type Client = Readonly<{ program: 'pg_dump' | 'pg_restore'; args: readonly string[]; url: string; signal: AbortSignal }>

async function runClient({ program, args, url, signal }: Client): Promise<void> {
  const { execa } = await import('execa')
  const { failed, code, stderr } = await execa(program, args, {
    // Others could see a password among the arguments.
    env: { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', ...postgresEnvironment(url) },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    cancelSignal: signal,
  })
  signal.throwIfAborted()
  if (!failed) return
  if (code === 'ENOENT')
    throw problem('CONFIG', `${program} is not installed. fix: install the PostgreSQL client of the server's major version`)
  const lines = stderr.split('\n').filter((line) => line.trim() !== '')
  const reason = printable(lines.slice(0, 2).join('; ')).slice(0, 400)
  if (/no space left/i.test(stderr)) throw problem('DISK_FULL', `No disk space left for the copy of the database (${reason})`)
  throw problem('UNAVAILABLE', `${program} failed: ${reason}. fix: check that the server runs, and that ${program} has its major version`)
}
