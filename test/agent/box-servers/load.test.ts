import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadDatabase } from '../../../src/agent/box-servers/load.ts'
import { engineProblem } from '../../../src/agent/docker/engine-problem.ts'
import type { ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'

type Given = Readonly<{
  signal?: AbortSignal
  dumpFolder?: string
  freshened?: string
  fails?: unknown
  ran?: { argv: string; stdin: string }[]
}>

/** A box whose database takes a load, and the programs run in it. `freshened`: output of the psql that recreates the database; `fails`: error of pg_restore. */
async function aLoadedBox({ signal, dumpFolder, freshened = 'fresh\n', fails, ran = [] }: Given = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-load-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const name of ['database.dump', 'globals.sql']) await writeFile(join(folder, name), '')
  const engine = {
    containers: async () => [{ id: 'db', service: 'postgres', state: 'running' }],
    exec: async (_: string, argv: readonly string[], { stdin = '' }: { stdin?: unknown } = {}) => {
      ran.push({ argv: argv.join(' '), stdin: String(stdin) })
      if (fails && argv.includes('pg_restore')) throw fails
      if (argv[0] === 'printenv') return { exitCode: 0, stdout: 'synapse\n', stderr: '' }
      return { exitCode: 0, stdout: String(stdin).includes('create database') ? freshened : '', stderr: '' }
    },
  } as unknown as ContainerEngine
  await loadDatabase(engine, { slug: 'oak', project: { name: 'box-oak', folder } } as LocalBox, dumpFolder ?? folder, {}, signal)
  return ran
}

test('all that comes before the dump is one program in the container: each costs a process there', async () => {
  const before = (await aLoadedBox()).map(({ argv }) => argv.split(' ')[0]).filter((program) => program !== 'printenv')
  expect(before).toEqual(['psql', 'env', 'psql', 'psql'])
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
    'env PGOPTIONS=-c synchronous_commit=off pg_restore --exit-on-error',
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
