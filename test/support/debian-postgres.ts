import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { freePort } from './free-port.ts'

const versions = '/usr/lib/postgresql'

/** The folder of PostgreSQL's programs with its clients, which the embedded server lacks; undefined where Debian's package is not installed. */
export async function debianPostgresPrograms(): Promise<string | undefined> {
  const found = (await readdir(versions).catch((): string[] => [])).toSorted((a, b) => Number(b) - Number(a))
  for (const version of found) {
    const folder = join(versions, version, 'bin')
    const programs = await readdir(folder).catch((): string[] => [])
    if (['initdb', 'postgres', 'pg_dump', 'pg_restore'].every((name) => programs.includes(name))) return folder
  }
  return undefined
}

/** A server of Debian's package. As root it runs under another user, because PostgreSQL refuses root. */
export async function debianPostgres(programs: string): Promise<Readonly<{ url: (database: string) => string; close(): Promise<void> }>> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-debian-pg-'))
  const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid)
  await chmod(folder, 0o700)
  const data = join(folder, 'data')
  await execa(join(programs, 'initdb'), ['-D', data, '-U', 'test', '--auth=trust', '--encoding=UTF8', '--no-sync'], {
    ...user,
    cwd: folder,
  })
  const port = await freePort()
  const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder, '-F']
  const server = spawn(join(programs, 'postgres'), args, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(server, 'exit')
  for await (const line of server.stderr) if (String(line).includes('ready to accept connections')) break
  server.stderr.resume()
  return {
    url: (database) => `postgres://test:not%20needed@127.0.0.1:${port}/${database}?sslmode=disable`,
    close: async () => {
      server.kill('SIGINT')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const idOf = (which: '-u' | '-g'): number => Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }))
