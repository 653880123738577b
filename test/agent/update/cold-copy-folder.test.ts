import { chmod, mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyFolder, syncTree } from '../../../src/agent/update/copy-folder.ts'

const aTree = async () => {
  const root = await mkdtemp(join(tmpdir(), 'tenantry-copy-'))
  const from = join(root, 'from')
  await mkdir(join(from, 'base', 'empty'), { recursive: true })
  for (let file = 0; file < 40; file++) await writeFile(join(from, 'base', `${file}`), `content of ${file}`)
  await writeFile(join(from, 'pid'), '1')
  await chmod(join(from, 'pid'), 0o600)
  await chmod(from, 0o700)
  await symlink('base/1', join(from, 'link'))
  const into = join(root, 'into')
  await mkdir(into)
  return { from, into }
}

test('a copied folder has the files, empty folders, links and modes of its source', async () => {
  const { from, into } = await aTree()
  await copyFolder(from, into, { signal: new AbortController().signal })
  for (let file = 0; file < 40; file++) expect(await readFile(join(into, 'base', `${file}`), 'utf8')).toBe(`content of ${file}`)
  expect((await stat(join(into, 'base', 'empty'))).isDirectory()).toBe(true)
  expect(await readlink(join(into, 'link'))).toBe('base/1')
  expect((await stat(join(into, 'pid'))).mode & 0o777).toBe(0o600)
  expect((await stat(into)).mode & 0o777).toBe(0o700)
})

test('it never writes over what is there', async () => {
  const { from, into } = await aTree()
  await writeFile(join(into, 'pid'), '2')
  await expect(copyFolder(from, into, { signal: new AbortController().signal })).rejects.toThrow(/EEXIST/)
})

test('an abort ends it', async () => {
  const { from, into } = await aTree()
  await expect(copyFolder(from, into, { signal: AbortSignal.abort(new Error('drained')) })).rejects.toThrow('drained')
})

test('a tree is written to the disk as it is, and one that is missing is reported', async () => {
  const { from } = await aTree()
  await syncTree(from, new AbortController().signal)
  await expect(syncTree(from, AbortSignal.abort(new Error('drained')))).rejects.toThrow('drained')
  await rm(from, { recursive: true })
  await expect(syncTree(from, new AbortController().signal)).rejects.toThrow(/ENOENT/)
})
