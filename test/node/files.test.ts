import { mkdtemp, readdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readIfThere, writeFileAtomic } from '../../src/node/index.ts'

const folder = () => mkdtemp(join(tmpdir(), 'tenantry-files-'))

test('a file is replaced whole, with its mode, and nothing is left beside it', async () => {
  const at = await folder()
  await writeFile(join(at, 'a'), 'old', { mode: 0o644 })
  await writeFileAtomic(join(at, 'a'), 'new', { mode: 0o600 })
  expect(await readIfThere(join(at, 'a'))).toBe('new')
  expect((await stat(join(at, 'a'))).mode & 0o777).toBe(0o600)
  expect(await readdir(at)).toEqual(['a'])
})

test('a write that fails leaves nothing behind', async () => {
  const at = await folder()
  await expect(writeFileAtomic(join(at, 'file', '\0'), 'x')).rejects.toThrow()
  expect((await readdir(join(at, 'file')).catch(() => [])).length).toBe(0)
})

test('a file that does not exist is no failure', async () => {
  expect(await readIfThere(join(await folder(), 'none'))).toBeUndefined()
})
