import { lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { mirrorFiles } from '../../../src/agent/import/mirror-files.ts'

const made: string[] = []
let from: string
let into: string
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-mirror-'))
  made.push(folder)
  ;[from, into] = [join(folder, 'stack'), join(folder, 'box')] as [string, string]
  await mkdir(from)
  await mkdir(into)
})
afterAll(() => Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true }))))

async function write(path: string, text: string) {
  await mkdir(dirname(join(from, path)), { recursive: true })
  await writeFile(join(from, path), text)
}
const { signal } = new AbortController()
const mirror = (isMedia = true) =>
  mirrorFiles({ sources: [{ from, inside: '' }], into, isMedia, leaveOut: isMedia ? ['url_cache'] : [], signal })

test('a second run copies nothing again: the stack is stopped meanwhile', async () => {
  const names = Array.from({ length: 40 }, (_, n) => `local_content/aa/bb/${n}`)
  for (const name of names) await write(name, name)
  expect(await mirror(false)).toEqual({ linked: 0, copied: 40 })
  const first = await Promise.all(names.map(async (name) => (await lstat(join(into, name))).ino))
  await mirror(false)
  expect(await Promise.all(names.map(async (name) => (await lstat(join(into, name))).ino))).toEqual(first)
})

test('a second run takes what has changed, and removes what is gone', async () => {
  await write('one', 'one')
  await write('two', 'two')
  await mirror(false)
  await write('one', 'changed')
  await rm(join(from, 'two'))
  await mirror(false)
  expect(await readFile(join(into, 'one'), 'utf8')).toBe('changed')
  await expect(lstat(join(into, 'two'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test.each([
  ['a file', 'local_content/aa/bb/linked', 'elsewhere'],
  ['a folder', 'local_content/cc', '.'],
])('%s behind a symbolic link is refused, not left behind in silence', async (_, path, target) => {
  await write('local_content/aa/bb/plain', 'plain')
  await write('elsewhere', 'elsewhere')
  await symlink(join(from, target), join(from, path))
  await expect(mirror()).rejects.toMatchObject({ code: 'FOLDER_UNSAFE', message: expect.stringContaining(join(from, path)) })
})

test('links in folders that stay behind do not matter', async () => {
  await write('url_cache/plain', 'plain')
  await symlink('/nowhere', join(from, 'url_cache', 'linked'))
  await mirror()
})

test('a file whose name another one has with an ending more', async () => {
  await write('file.part', 'the part')
  await write('file', 'the file')
  await mirror(false)
  expect(await Promise.all(['file', 'file.part'].map((name) => readFile(join(into, name), 'utf8')))).toEqual(['the file', 'the part'])
})
