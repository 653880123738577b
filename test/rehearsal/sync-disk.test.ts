import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { chmod, link, mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { writeFileAtomic, yieldUntilIdle } from '../../src/node/index.ts'
import { installSyncDisk } from '../../src/rehearsal/sync-disk.ts'
import { aFleet } from './a-fleet.ts'

const waitsForDisk = () => process.getActiveResourcesInfo().filter((what) => what.startsWith('FS'))

describe('a thread whose disk answers at once', () => {
  let folder: string
  let putBack: () => void
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tenantry-at-once-'))
    putBack = installSyncDisk()
  })
  afterEach(() => {
    putBack()
    rmSync(folder, { recursive: true, force: true })
  })

  test('has done what it asked for before anybody waits for it', async () => {
    await yieldUntilIdle()
    const written = writeFile(join(folder, 'a'), 'text')
    expect(waitsForDisk()).toEqual([])
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('text')
    await written
  })

  test('says what is not there without a stack, and leaves those of others alone', async () => {
    const error = await readFile(join(folder, 'none')).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ code: 'ENOENT' })
    expect((error as Error).stack).not.toMatch(/\n +at /)
    expect(new Error('other').stack).toMatch(/\n +at /)
  })

  test('does all to files as ever', async () => {
    const at = (name: string) => join(folder, name)
    await mkdir(at('deep/er'), { recursive: true })
    await writeFileAtomic(at('deep/whole'), 'whole', { mode: 0o640 })
    await writeFile(at('parts'), parts())
    await rename(at('parts'), at('deep/er/parts'))
    await link(at('deep/whole'), at('linked'))
    await chmod(at('linked'), 0o600)
    expect(await readFile(at('deep/er/parts'), 'utf8')).toBe('one two')
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(['deep', 'deep/er', 'deep/er/parts', 'deep/whole', 'linked'])
    expect([(await stat(at('deep/whole'))).mode & 0o777, (await stat(at('deep'))).isDirectory()]).toEqual([0o600, true])
    expect(await realpath(at('deep/er/..'))).toBe(await realpath(at('deep')))
    await rm(at('deep'), { recursive: true })
    expect(await readdir(folder)).toEqual(['linked'])
  })

  test('opens files that are written, forced and closed', async () => {
    const path = join(folder, 'opened')
    const file = await open(path, 'wx', 0o600)
    await file.writeFile('one')
    await writeFile(file, parts())
    await file.sync()
    expect((await file.stat()).size).toBe(10)
    await file.close()
    expect(await readFile(path, 'utf8')).toBe('oneone two')
    await expect(open(path, 'wx')).rejects.toMatchObject({ code: 'EEXIST' })
  })

  test('is told of what failed by its promise, never by a throw', async () => {
    const reading = readFile(join(folder, 'nowhere'), 'utf8')
    await expect(reading).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(stat(join(folder, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('is as before once that is put back', async () => {
    putBack()
    const reading = stat(folder)
    expect(waitsForDisk()).not.toEqual([])
    await reading
  })
})

test('a rehearsal is the same, however its disk answers', async () => {
  const { play } = await aFleet([{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'prima', plan: 'pro' }])
  const wanted = { faults: { failProbes: ['prima'] } }
  const first = await play(wanted)
  const putBack = installSyncDisk()
  try {
    expect(await play(wanted)).toEqual(first)
  } finally {
    putBack()
  }
})

async function* parts() {
  yield 'one '
  yield 'two'
}
