import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileDiskReserve, memoryStore, withDiskReserve } from '../../../src/agent/journal/index.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-ballast-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size ?? 0
const full = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })

test('a ballast takes real room, and gives it up', async () => {
  const path = join(folder, 'ballast')
  const ballast = fileDiskReserve(path)
  await ballast.refill()
  await ballast.refill()
  expect(await sizeOf(path)).toBe(16 * 1024 * 1024)
  expect((await stat(path)).blocks * 512).toBeGreaterThanOrEqual(16 * 1024 * 1024)
  await ballast.release()
  expect(await sizeOf(path)).toBe(0)
})

test('on a full disk a write gives up the ballast before it gives up itself', async () => {
  const shelf = memoryStore()
  let there = true
  const onFullDisk = { ...shelf, write: (name: string, text: string) => (there ? Promise.reject(full()) : shelf.write(name, text)) }
  const release = async () => {
    there = false
  }
  await withDiskReserve(onFullDisk, { release }).write('a', 'text')
  expect(await shelf.read('a')).toBe('text')
})

test('any other failure leaves the ballast where it is', async () => {
  const broken = { ...memoryStore(), write: () => Promise.reject(new Error('read-only')) }
  const release = () => Promise.reject(new Error('must not be released'))
  await expect(withDiskReserve(broken, { release }).write('a', 'text')).rejects.toThrow('read-only')
})
