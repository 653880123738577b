import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startRecovery } from '../../../src/agent/archive/recovery-server.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'
import { systemClock } from '../../../src/node/index.ts'
import { freePort } from '../../support/free-port.ts'
import { germanVersion } from '../box-servers/german-server.ts'

const version = germanVersion()
const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534, mode: 0o700 } : { uid: 0, gid: 0, mode: 0o700 }

/** A server whose messages are German, and a copy of its files to recover. */
async function aGermanCopy() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-recovered-'))
  const bin = join('/usr/lib/postgresql', version as string, 'bin')
  const as = owner.uid === 0 ? {} : { uid: owner.uid, gid: owner.gid }
  const [data, copy, port] = [join(folder, 'data'), join(folder, 'copy'), String(await freePort())]
  await chmod(folder, 0o755)
  for (const one of [data, copy]) {
    await mkdir(one, { mode: 0o700 })
    if (owner.uid !== 0) await chown(one, owner.uid, owner.gid)
  }
  const run = (program: string, args: string[], env: Record<string, string> = {}) =>
    execFileSync(join(bin, program), args, {
      ...as,
      cwd: data,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', ...env },
    })
  const quiet = `-p ${port} -c listen_addresses= -c unix_socket_directories=${data} -c fsync=off`
  // It answers once the server takes connections, or has ended.
  const start = (from: string) => {
    const ended = spawnSync(join(bin, 'pg_ctl'), ['-D', from, '-w', 'start', '-l', join(from, 'server.log'), '-o', quiet], {
      ...as,
      cwd: data,
      stdio: 'ignore',
      env: { PATH: process.env.PATH, LANGUAGE: 'de', LC_ALL: 'C.UTF-8' },
    })
    return ended.status === 0
  }
  const stop = (from: string) => run('pg_ctl', ['-D', from, '-w', '-m', 'immediate', 'stop'])
  onTestFinished(async () => {
    for (const one of [copy, data])
      try {
        stop(one)
      } catch {}
    await rm(folder, { recursive: true, force: true })
  })
  run('initdb', ['-D', data, '-U', 'postgres', '--locale=C', '--encoding=UTF8', '-A', 'trust', '-N'])
  execFileSync('sed', ['-i', "s/^lc_messages.*/lc_messages = 'C.UTF-8'/", join(data, 'postgresql.conf')], as)
  start(data)
  const isReady = () => {
    try {
      run('pg_isready', ['-h', data, '-p', port, '-U', 'postgres', '-d', 'postgres'])
      return true
    } catch {
      return false
    }
  }
  expect(isReady()).toBe(true)
  run('pg_basebackup', ['-h', data, '-p', port, '-U', 'postgres', '-D', copy, '-X', 'stream', '-c', 'fast'])
  stop(data)
  return { folder, copy, start, run, isReady }
}

/** The ports of a recovery over the programs of this machine. */
async function aRecovery() {
  const { folder, copy, start, run, isReady } = await aGermanCopy()
  const isAlive = () => {
    try {
      run('pg_ctl', ['-D', copy, 'status'])
      return true
    } catch {
      return false
    }
  }
  const said: string[] = []
  const engine = {
    up: async () => start(copy),
    containers: async () => [{ id: 'one', service: 'postgres', state: isAlive() ? 'running' : 'exited' }],
    logs: async () => {
      said.push(await readFile(join(copy, 'server.log'), 'utf8'))
      return said.at(-1)
    },
    discard: async () => rm(join(copy, 'server.log'), { force: true }),
  } as unknown as ContainerEngine
  const servers = { databaseReady: async () => isReady() } as unknown as BoxServers
  const server = { slug: 'north', project: { name: 'north', folder, composeFile: join(folder, 'recovery.yaml') } } as LocalBox
  const recover = (target: Readonly<{ to: string | null; logEnd: bigint }>) =>
    startRecovery(
      { engine, servers, clock: systemClock },
      { server, text: '{}', target: { ...target, dataFolder: copy, owner }, signal: new AbortController().signal },
    )
  return { recover, said, isReady }
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const firstLog = 16n * 1024n * 1024n

describe.skipIf(version === undefined)('a recovery by a real server whose messages are German', () => {
  test('reaches a moment after the last commit', async () => {
    const { recover, said, isReady } = await aRecovery()
    await recover({ to: inAnHour(), logEnd: firstLog })
    expect(said.join()).toContain('FATAL')
    expect(isReady()).toBe(true)
  }, 60_000)

  test.each([['latest'], ['a moment after the last commit']])(
    'fails where the log of the archive goes further than what could be replayed: %s',
    async (to) => {
      const { recover } = await aRecovery()
      const ended = recover({ to: to === 'latest' ? null : inAnHour(), logEnd: 64n * firstLog })
      await expect(ended).rejects.toMatchObject({
        code: 'RESTORE_FAILED',
        message: expect.stringMatching(/up to 0\/[0-9A-F]+, and its log goes to 0\/40000000/),
      })
    },
    60_000,
  )
})
