import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadDatabase } from '../../../src/agent/box-servers/load.ts'
import { engineProblem } from '../../../src/agent/docker/engine-problem.ts'
import type { ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'

type Given = Readonly<{
  /** Files beside the empty dump; the box has its folder there too. */
  files?: Readonly<Record<string, string>>
  signal?: AbortSignal
  dumpFolder?: string
  freshened?: string
  fails?: unknown
  ran?: { argv: string; stdin: string }[]
}>

/** A box whose database takes a load, and the programs run in it. `freshened`: output of the psql that recreates the database; `fails`: error of pg_restore. */
async function aLoadedBox({ files = {}, signal, dumpFolder, freshened = 'fresh\n', fails, ran = [] }: Given = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-load-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'database.dump'), '')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const engine = {
    containers: async () => [{ id: 'db', service: 'postgres', state: 'running' }],
    exec: async (_: string, argv: readonly string[], { stdin = '' }: { stdin?: unknown } = {}) => {
      ran.push({ argv: argv.join(' '), stdin: String(stdin) })
      if (fails && argv.includes('pg_restore')) throw fails
      if (argv[0] === 'printenv') return { exitCode: 0, stdout: 'synapse\n', stderr: '' }
      if (String(stdin).includes('query_to_xml')) return { exitCode: 0, stdout: 'events 1\n', stderr: '' }
      return { exitCode: 0, stdout: String(stdin).includes('create database') ? freshened : '', stderr: '' }
    },
  } as unknown as ContainerEngine
  await loadDatabase(
    { engine, box: { slug: 'oak', project: { name: 'box-oak', folder } } as LocalBox },
    { folder: dumpFolder ?? folder, expected: { events: 1 } },
    signal,
  )
  return ran
}

test('all that comes before the dump is one program in the container: each costs a process there', async () => {
  const programs = (await aLoadedBox())
    .map(({ argv }) => /\b(psql|pg_restore|printenv)\b/.exec(argv)?.[0])
    .filter((program) => program !== 'printenv')
  expect(programs).toEqual(['psql', 'pg_restore', 'psql', 'psql'])
})

test.each([
  ['has tables', 'filled 190\n', 'is not empty: it has 190 tables'],
  ['was not recreated, although psql succeeded', '', 'was not recreated'],
])('nothing is loaded into a database that %s', async (_, freshened, message) => {
  const ran: NonNullable<Given['ran']> = []
  const loaded = aLoadedBox({ freshened, ran })
  await expect(loaded).rejects.toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining(message) })
  expect(ran.filter(({ argv }) => argv.includes('pg_restore'))).toEqual([])
})

test.each([
  ['EIO', 'RESTORE_FAILED', 'Cannot read the dump of oak: i/o error, read'],
  [
    'ECONNREFUSED',
    'DOCKER_UNAVAILABLE',
    'The container engine does not answer (ECONNREFUSED). fix: start it, and check access to its socket',
  ],
])('a disk error in the dump is not reported as an unreachable engine: %s', async (lost, code, message) => {
  const cause = Object.assign(new Error('i/o error, read'), { code: lost })
  const loaded = aLoadedBox({ fails: engineProblem(cause, 'pg_restore', 'DOCKER_UNAVAILABLE') })
  await expect(loaded).rejects.toMatchObject({ code, message })
})

test('only the statements of the dump do not wait for the disk, and after them there is one that does, for all of them', async () => {
  const ran = await aLoadedBox()
  const waitsNot = ran.filter(({ argv, stdin }) => /synchronous_commit ?= ?off/.test(argv + stdin))
  expect(waitsNot.map(({ argv }) => argv.replace(/ -w .*/, ''))).toEqual([
    'env PGOPTIONS=-c synchronous_commit=off pg_restore -Fc --exit-on-error --no-owner --no-privileges --no-tablespaces',
  ])
  const after = ran.slice(ran.findIndex(({ argv }) => argv.includes('pg_restore')) + 1)
  const last = after
    .find(({ stdin }) => stdin.includes('analyze;'))
    ?.stdin.trim()
    .split('\n')
    .slice(-2)
  // A transaction that writes nothing would not wait.
  expect(last).toEqual(['set synchronous_commit = local;', "select pg_logical_emit_message(true, 'tenantry', 'loaded');"])
})

test('a load that is to stop says so, and does not look for its dump', async () => {
  await expect(aLoadedBox({ signal: AbortSignal.abort(new Error('drained')), dumpFolder: '/nothing' })).rejects.toThrow('drained')
})

const hostile = `\\! touch /tmp/owned
copy (select 1) to program 'reboot';
alter role synapse superuser;
'`

test('nothing of the globals file is run: psql and its meta-commands would run programs as superuser', async () => {
  const [clean, attacked] = [await aLoadedBox(), await aLoadedBox({ files: { 'globals.sql': hostile } })]
  expect(attacked).toEqual(clean)
})

test('the role of the box has the password of the box itself, whatever it consists of', async () => {
  const names = [
    'edgeSecret',
    'minioRootPassword',
    'macaroonSecret',
    'formSecret',
    'registrationSharedSecret',
    'appserviceToken',
    'homeserverToken',
  ]
  const secrets = { boxId: 'b', signingKeyId: 'a', signingKeySeed: 's', ...Object.fromEntries(names.map((name) => [name, 'x'])) }
  const text = JSON.stringify({ ...secrets, postgresPassword: "it's \\! :mine" })
  const ran = await aLoadedBox({ files: { 'secrets/box.json': text } })
  expect(ran.flatMap(({ stdin }) => stdin.split('\n')).filter((line) => line.includes('role'))).toEqual([
    `alter role "synapse" password 'it''s \\! :mine';`,
  ])
})

test('a dump that is a link is not read', async () => {
  const dumpFolder = await mkdtemp(join(tmpdir(), 'tenantry-load-'))
  onTestFinished(() => rm(dumpFolder, { recursive: true, force: true }))
  await symlink('/etc/passwd', join(dumpFolder, 'database.dump'))
  await expect(aLoadedBox({ dumpFolder })).rejects.toMatchObject({
    code: 'RESTORE_FAILED',
    message: expect.stringMatching(/not a regular/),
  })
})
