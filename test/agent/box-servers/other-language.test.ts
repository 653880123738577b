import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { dumpDatabase, lockWaitMs } from '../../../src/agent/box-servers/dump.ts'

import { errorLine } from '../../../src/agent/box-servers/sql.ts'
import type { ContainerEngine, ExecOptions, ExecResult, LocalBox } from '../../../src/agent/ports/index.ts'
import { aGermanServer, germanVersion } from './german-server.ts'

// A server says in its own language what stood in the way of a dump. Whether it is tried again must not depend on that.

type German = Awaited<ReturnType<typeof aGermanServer>>
const version = germanVersion()
const patience = { timeout: 60_000, interval: 20 }
const variables: Record<string, string> = { TENANTRY_DATABASE: 'synapse', POSTGRES_USER: 'postgres' }

/** Shortens the lock timeout of five seconds. */
const waitMs = 300
const sooner = () =>
  new Transform({
    transform: (part, _, done) => done(null, String(part).replace(`lock_timeout = ${lockWaitMs}`, `lock_timeout = ${waitMs}`)),
  })

async function run(env: Record<string, string>, argv: readonly string[], options: ExecOptions): Promise<ExecResult> {
  const [program = '', ...words] = argv.map((word) =>
    word === `--lock-wait-timeout=${lockWaitMs}` ? `--lock-wait-timeout=${waitMs}` : word,
  )
  const child = spawn(program, words, { env, ...(options.signal ? { signal: options.signal } : {}) })
  const said = { stdout: '', stderr: '' }
  const ended = new Promise<number>((resolve, reject) => child.once('error', reject).once('close', (code) => resolve(code ?? -1)))
  child.stderr.on('data', (part) => {
    said.stderr += part
  })
  let written: unknown
  if (options.stdoutFile) written = pipeline(child.stdout, createWriteStream(options.stdoutFile))
  else
    child.stdout.on('data', (part: Buffer) => {
      said.stdout += part
      options.onStdout?.(part)
    })
  const { stdin = '' } = options
  if (typeof stdin === 'string') child.stdin.end(stdin)
  else pipeline(stdin as Readable, argv.includes('psql') ? sooner() : new PassThrough(), child.stdin).catch(() => undefined)
  const exitCode = await ended
  await written
  return { exitCode, ...said }
}

describe.skipIf(version === undefined)('a server that speaks German', () => {
  let german: German
  let folder: string
  beforeAll(async () => {
    german = await aGermanServer(version as string)
    folder = await mkdtemp(join(tmpdir(), 'tenantry-dump-'))
  })
  afterAll(async () => {
    await german?.close()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    german.as('synapse', 'synapse', 'drop table if exists events, rooms', 'create table events (id int)', 'create table rooms (id int)')
    german.as('synapse', 'synapse', 'insert into events values (1), (2)')
  })

  /** A box whose programs run on this machine; `before` is called before each program. */
  function aDump(before: (program: string, time: number) => Promise<unknown>) {
    const times: Record<string, number> = {}
    const exec: ContainerEngine['exec'] = async (_, argv, options = {}) => {
      if (argv[0] === 'printenv') return { exitCode: 0, stdout: variables[argv[1] ?? ''] ?? '', stderr: '' }
      const program = argv.find((word) => /^(psql|pg_\w+)$/.test(word)) ?? ''
      times[program] = (times[program] ?? 0) + 1
      await before(program, times[program])
      return run(german.env, argv, options)
    }
    const containers = async () => [{ service: 'postgres', id: 'c1', state: 'running' }]
    const engine = { exec, containers } as unknown as ContainerEngine
    const box = { slug: 'oak', ports: null, project: { name: 'box-oak', folder, composeFile: join(folder, 'compose.yaml') } } as LocalBox
    return { times, dumped: () => dumpDatabase({ engine, box }, join(folder, 'dump')) }
  }

  /** Another session in the database, which continues on request. */
  function another(...sql: string[]) {
    const child = spawn(german.psql, ['-X', '-q', '-h', '127.0.0.1', '-U', 'synapse', '-d', 'synapse'], {
      env: german.env,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    onTestFinished(async () => {
      child.kill()
      await ended // what it keeps would stand in the way of the next test
    })
    child.stdin.write(`${sql.join(';\n')};\n`)
    const end = async (last = '') => {
      child.stdin.end(last)
      await ended
    }
    return { end }
  }
  const locks = (granted: boolean, mode: string) =>
    Number(german.as('postgres', 'synapse', `select count(*) from pg_locks where mode = '${mode}' and granted = ${granted}`))

  test('says why in it, and no words of English are in that', () => {
    const tried = () => german.as('synapse', 'synapse', 'select * from nowhere')
    expect(tried).toThrow(/FEHLER: .*existiert nicht/)
  })

  test('has a dump done again that stood behind the change of a table', async () => {
    let change = { end: async () => {} }
    const { times, dumped } = aDump(async (program, time) => {
      if (program !== 'pg_dump' || time > 1) return
      change = another('alter table rooms add column name text')
      await expect.poll(() => locks(false, 'AccessExclusiveLock'), patience).toBe(1)
    })
    expect(await dumped()).toEqual({ events: 2, rooms: 0 })
    await change.end()
    expect(times).toMatchObject({ pg_dump: 2, psql: 2 })
  })

  test('has the moment tried again whose tables somebody kept', async () => {
    const other = another('begin', 'lock table rooms in access exclusive mode')
    await expect.poll(() => locks(true, 'AccessExclusiveLock'), patience).toBe(1)
    const { times, dumped } = aDump(async (program, time) => program === 'psql' && time === 2 && other.end())
    expect(await dumped()).toEqual({ events: 2, rooms: 0 })
    expect(times).toMatchObject({ pg_dump: 1, psql: 2 })
  })

  test('has the moment tried again of a table that was dropped meanwhile', async () => {
    const other = another('begin', 'drop table rooms')
    await expect.poll(() => locks(true, 'AccessExclusiveLock'), patience).toBeGreaterThan(0)
    const { times, dumped } = aDump(async () => undefined)
    const dump = dumped()
    await expect.poll(() => locks(false, 'AccessShareLock'), patience).toBe(1)
    await other.end('commit;\n')
    expect(await dump).toEqual({ events: 2 })
    expect(times.psql).toBe(2)
  })

  test('the server’s own error is reported when every try meets a change', async () => {
    const other = another('begin', 'lock table rooms in access exclusive mode')
    await expect.poll(() => locks(true, 'AccessExclusiveLock'), patience).toBe(1)
    const { times, dumped } = aDump(async () => undefined)
    const message = expect.stringMatching(/being changed in all 6 attempts.*FEHLER: {2}55P03: storniere Anfrage/)
    await expect(dumped()).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED', message })
    await other.end()
    expect(times.psql).toBe(6)
  })
})

test.each([
  ['ERROR:  deadlock detected\nDETAIL:  Process 7 waits\n', 'ERROR:  deadlock detected'],
  ['psql:<stdin>:5: ERROR:  relation "x" does not exist\nLINE 1: x\n', 'ERROR:  relation "x" does not exist'],
  [
    'HINWEIS:  00000: so\nFEHLER:  40P01: Verklemmung entdeckt\nDETAIL:  Prozess 7 wartet\nLOCATION:  f, d.c:1\n',
    'FEHLER:  40P01: Verklemmung entdeckt',
  ],
  ['ОШИБКА:  55P03: выполнение оператора отменено\nLOCATION:  f\n', 'ОШИБКА:  55P03: выполнение оператора отменено'],
  [
    'pg_dump: error: query failed: FEHLER:  storniere Anfrage\npg_dump: detail: Query was: LOCK TABLE public.a IN ACCESS SHARE MODE\n',
    'query failed: FEHLER:  storniere Anfrage',
  ],
  ['pg_dump: error: no such thing\n', 'pg_dump: error: no such thing'],
])('what went wrong is found in %j', (said, line) => {
  expect(errorLine(said)).toBe(line)
})
