import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const read = (...path: string[]) => readFileSync(resolve(root, ...path), 'utf8')
const { bin, files = [] } = JSON.parse(read('package.json')) as { bin: Record<string, string>; files?: string[] }

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
