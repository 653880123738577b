import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'

const programs = '/usr/lib/postgresql'

/** The version that the machine has whole: server, programs and German. Undefined where it has none. */
export function germanVersion(): string | undefined {
  const versions = existsSync(programs) ? readdirSync(programs) : []
  return versions.find(
    (version) =>
      ['initdb', 'postgres', 'pg_ctl', 'pg_dump', 'psql'].every((name) => existsSync(join(programs, version, 'bin', name))) &&
      existsSync(`/usr/share/locale/de/LC_MESSAGES/postgres-${version}.mo`),
  )
}

/** A server never runs as root. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** A PostgreSQL with German error messages, whatever the client's language, and a database `synapse` with its own owner. */
export async function aGermanServer(version: string) {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-german-'))
  const [data, bin] = [join(folder, 'data'), join(programs, version, 'bin')]
  mkdirSync(data)
  chmodSync(folder, 0o755)
  if (unprivileged.uid !== undefined) chownSync(data, unprivileged.uid, unprivileged.gid)
  const port = String(await freePort())
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '--locale=C', '--encoding=UTF8', '-A', 'trust', '-N'], {
    ...unprivileged,
    cwd: data,
    stdio: 'ignore',
  })
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'lc_messages=C.UTF-8']
  const control = (...asked: string[]) =>
    execFileSync(join(bin, 'pg_ctl'), ['-D', data, '-w', ...asked], {
      ...unprivileged,
      cwd: data,
      env: { PATH: process.env.PATH, LANGUAGE: 'de', LC_ALL: 'C.UTF-8' },
      stdio: 'ignore',
    })
  // It answers once the server takes connections.
  control('start', '-l', join(data, 'server.log'), '-o', ['-p', port, ...settings.flatMap((setting) => ['-c', setting])].join(' '))
  const psql = join(bin, 'psql')
  const env = { PATH: `${bin}:${process.env.PATH}`, PGPORT: port, LC_ALL: 'C.UTF-8' }
  const as = (user: string, database: string, ...sql: string[]) =>
    execFileSync(psql, ['-X', '-q', '-A', '-t', '-h', '127.0.0.1', '-U', user, '-d', database, ...sql.flatMap((one) => ['-c', one])], {
      env,
      encoding: 'utf8',
      timeout: 10_000,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  as('postgres', 'postgres', 'create role synapse login', 'create database synapse owner synapse')
  const close = async () => {
    control('stop', '-m', 'immediate')
    await rm(folder, { recursive: true, force: true })
  }
  return { env, psql, as, close }
}
