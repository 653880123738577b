import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { satisfies } from 'semver'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const read = (...path: string[]) => readFileSync(resolve(root, ...path), 'utf8')
const {
  bin,
  files = [],
  engines,
} = JSON.parse(read('package.json')) as {
  bin: Record<string, string>
  files?: string[]
  engines: { node: string }
}

/** What is named in files of a folder; the first group of the pattern is a path from the package's root. */
const named = (folder: string, pattern: RegExp) =>
  readdirSync(resolve(root, folder), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .flatMap((file) => [...read(file.parentPath, file.name).matchAll(pattern)].map(([, path = '']) => path))

test('the package that npm packs holds what its programs are, import and read, and is told so: it left out what git ignores', () => {
  const needed = [
    ...Object.values(bin),
    ...named('bin', /import\('\.\.\/([^']+)'\)/g),
    ...named('src', /packageRoot\('([^']+)'\)/g).filter((path) => path !== 'package.json'),
  ]
  const folders = new Set(needed.map((path) => path.split('/')[0] as string))
  expect([...folders].sort()).toEqual(['bin', 'config', 'dist'])
  expect(files).toEqual(expect.arrayContaining([...folders]))
})

test.each([
  ['20.18.0', false],
  ['20.19.0', true],
  ['24.21.0', true],
  ['26.10.0', true],
])('Node.js %s is supported: %s', (version, isSupported) => {
  expect(satisfies(version, engines.node)).toBe(isSupported)
})

test.each(Object.entries(bin))('%s, its doctor included, refuses a version of Node.js that it does not support', (_, file) => {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-engines-'))
  cpSync(resolve(root, 'bin'), join(folder, 'bin'), { recursive: true })
  symlinkSync(resolve(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', engines: { node: '>=99' } }))
  const { status, stderr } = spawnSync(process.execPath, [join(folder, file), 'doctor'], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `Node.js ${process.version} (${process.execPath}) cannot run Tenantry, which needs >=99. fix: install such a version\n`,
  })
})
