import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { execa } from 'execa'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { areas, isOfChangedFeature, testsOfUnchangedAreas } from './support/changed-areas.ts'

// What CI tests thoroughly because it changed: scripts/changed-areas.js and test/areas.json.

const root = resolve(import.meta.dirname, '..')
const features = ['daemon/db', 'daemon/isolation', 'daemon/tasks', 'daemon/users']
const all = [...Object.keys(areas), ...features].join(',')
const often = [...Object.keys(areas).filter((name) => !areas[name]?.rare), ...features].join(',')

let folder: string
let tested: string

const git = async (...args: string[]) =>
  (await execa('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: folder })).stdout
const write = async (file: string, text: string) => {
  await mkdir(dirname(join(folder, file)), { recursive: true })
  await writeFile(join(folder, file), text)
}
const commit = async (file: string) => {
  await write(file, 'changed')
  await git('add', file)
  await git('commit', '-m', file)
}
const changed = async (env: Record<string, string> = { TESTED_COMMIT: tested }, ...options: string[]) =>
  (
    await execa(process.execPath, ['scripts/changed-areas.js', ...options], {
      cwd: folder,
      extendEnv: false,
      env: { PATH: process.env.PATH, ...env },
    })
  ).stdout

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-areas-'))
  for (const file of ['scripts/changed-areas.js', 'test/areas.json']) await cp(join(root, file), join(folder, file))
  for (const name of ['db', 'tasks', 'users']) await write(`src/daemon/${name}/index.ts`, '')
  await write('test/daemon/isolation/other-tenants.test.ts', '')
  await git('init')
  await git('add', '.')
  await git('commit', '-m', 'tested')
  tested = await git('rev-parse', 'HEAD')
})
beforeEach(async () => {
  await git('reset', '--hard', tested)
  await git('clean', '-dfq')
})

test.each([
  ['README.md', ''],
  ['src/daemon/tasks/index.ts', 'boards'],
  ['src/daemon/tasks/tasks.repo.ts', 'boards,daemon/tasks', "db.selectFrom('tasks')"],
  ['test/daemon/users/users.test.ts', 'daemon/users'],
  ['src/daemon/db/dialects.ts', 'replicas,daemon/db,daemon/isolation,daemon/tasks,daemon/users'],
  ['src/daemon/db/migrations/0001-baseline.ts', 'replicas,releases,daemon/db', 'sql`create table t (id text)`'],
  ['src/agent/update/index.ts', 'updates,crashes'],
  ['src/agent/update/hot-copy.ts', 'updates,crashes,hot-copies'],
  ['test/e2e/import-box.e2e.ts', 'imports'],
  ['test/e2e/rollback.e2e.ts', 'updates'],
  ['config/box-template/compose.yaml', 'updates,adoption,snapshots,containers,edge,chat'],
  ['src/daemon/spaces/chat-rooms.ts', 'automation,chat'],
  ['test/testbed/n8n.sh', 'updates,adoption,snapshots,containers,chat,n8n'],
  ['bench/run.js', ''],
  ['src/console/pages.ts', 'console'],
  ['package-lock.json', often.replace('vendor,', 'vendor,installation,')],
  ['vitest.config.ts', ''],
])('after a change of %s CI tests these areas thoroughly: %j', async (file, expected, text = 'changed') => {
  await write(file, text)
  expect(await changed()).toBe(expected)
})

test('a deleted file may have had SQL', async () => {
  await rm(join(folder, 'src/daemon/users/index.ts'))
  expect(await changed()).toBe('chat,daemon/users')
})

test('a test that an area has now is tested, and no other area', async () => {
  const { demo, ...others } = JSON.parse(await readFile(join(folder, 'test/areas.json'), 'utf8'))
  await write('test/areas.json', JSON.stringify({ ...others, demo: { ...demo, tests: [...demo.tests, 'test/e2e/other.e2e.ts'] } }))
  expect(await changed()).toBe('demo')
  await write('test/areas.json', JSON.stringify({ ...others, demo: { ...demo, tests: [] } }))
  expect(await changed()).toBe('')
})

test('changes of tests on servers make no unit test thorough', async () => {
  await write('test/e2e/support/fleet.ts', 'changed')
  expect((await changed()).split(',')).toContain('snapshots')
  expect(await changed({ TESTED_COMMIT: tested }, '--units')).toBe('')
})

test('each commit since the tested one counts', async () => {
  await commit('src/console/pages.ts')
  await commit('src/demo/index.ts')
  await commit('README.md')
  expect(await changed()).toBe('console,demo')
})

test('the tested commit is the one in .ci/tested', async () => {
  await commit('src/agent/update/index.ts')
  expect(await changed({})).toBe(all)
  await write('.ci/tested', `${tested}\n`)
  expect(await changed({})).toBe('updates,crashes')
})

test.each([
  ['it is unknown here', '0123456789012345678901234567890123456789'],
  ['it is empty', ''],
])('everything is tested where the tested commit is of no use: %s', async (_, commit) => {
  expect(await changed({ TESTED_COMMIT: commit })).toBe(all)
})

test('everything is tested where the tested commit is of another branch', async () => {
  await commit('elsewhere')
  const other = await git('rev-parse', 'HEAD')
  await git('reset', '--hard', tested)
  expect(await changed({ TESTED_COMMIT: other })).toBe(all)
})

test('tests are left out only where CHANGED_AREAS is set and does not name their area', () => {
  expect(testsOfUnchangedAreas(undefined)).toEqual([])
  expect(testsOfUnchangedAreas(all)).toEqual([])
  expect(testsOfUnchangedAreas(all.replace('benches,', ''))).toEqual(areas.benches?.tests)
})

test.each([
  ['test/daemon/tasks/tasks.test.ts', undefined, true],
  ['test/daemon/tasks/tasks.test.ts', '', false],
  ['test/daemon/tasks/tasks.test.ts', 'updates,daemon/tasks', true],
  ['test/daemon/tasks/tasks.test.ts', 'daemon/users', false],
  ['test/daemon/work/queues.test.ts', '', true],
  ['test/daemon/replicas.test.ts', '', true],
  ['test/cli/runs/own-runs.test.ts', '', true],
])('%s with the changed areas %j runs on PostgreSQL: %s', (file, changed, expected) => {
  expect(isOfChangedFeature(`/repository/${file}`, changed)).toBe(expected)
})

test('each folder, test and area that an area names exists', () => {
  expect(Object.values(areas).filter(({ uses }) => uses !== undefined && !areas[uses])).toEqual([])
  const paths = Object.values(areas).flatMap(({ changes, tests }) => [...changes, ...tests])
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
