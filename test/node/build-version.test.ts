import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { execa } from 'execa'
import { beforeEach, expect, test } from 'vitest'
import { buildVersion, packageVersion } from '../../src/node/index.ts'

let folder: string
const run = (file: string, ...args: string[]) => execa(file, args, { cwd: folder, extendEnv: false, env: { PATH: process.env.PATH } })
const git = (...args: string[]) => run('git', '-c', 'user.name=t', '-c', 'user.email=t@t', ...args)
const stamp = async (env: Record<string, string> = {}) => {
  await execa(process.execPath, ['scripts/stamp-commit.js'], { cwd: folder, extendEnv: false, env: { PATH: process.env.PATH, ...env } })
  return (await readFile(join(folder, 'dist/commit'), 'utf8')).trim()
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stamp-'))
  for (const name of ['scripts', 'dist']) await mkdir(join(folder, name))
  await cp(resolve(import.meta.dirname, '../../scripts/stamp-commit.js'), join(folder, 'scripts/stamp-commit.js'))
})

test('a build is stamped with its commit, and says so where files differ from it', async () => {
  await git('init')
  await git('add', 'scripts')
  await git('commit', '-m', 'first')
  const { stdout: commit } = await git('rev-parse', '--short=12', 'HEAD')
  expect(await stamp()).toBe(commit)
  await writeFile(join(folder, 'scripts/stamp-commit.js'), `${await readFile(join(folder, 'scripts/stamp-commit.js'), 'utf8')}\n`)
  expect(await stamp()).toBe(`${commit}-dirty`)
})

test('a checkout without git is stamped as unknown, or with the commit that it is given', async () => {
  expect(await stamp()).toBe('unknown')
  expect(await stamp({ TENANTRY_COMMIT: '3f2a91c0d1e4' })).toBe('3f2a91c0d1e4')
})

test('programs that run from their sources have the version of the package', () => {
  expect(buildVersion()).toBe(`${packageVersion()}+unknown`)
})
