import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileDiskReserve, memoryStore, withDiskReserve } from '../../../src/agent/journal/index.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-reserve-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size ?? 0
const full = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })

test('a disk reserve uses real disk space and releases it', async () => {
  const path = join(folder, 'reserve')
  const reserve = fileDiskReserve(path)
  await reserve.refill()
  await reserve.refill()
  expect(await sizeOf(path)).toBe(16 * 1024 * 1024)
  expect((await stat(path)).blocks * 512).toBeGreaterThanOrEqual(16 * 1024 * 1024)
  await reserve.release()
  expect(await sizeOf(path)).toBe(0)
})

test('on a full disk a write releases the reserve and is retried before it fails', async () => {
  const fileStore = memoryStore()
  let there = true
  const onFullDisk = { ...fileStore, write: (name: string, text: string) => (there ? Promise.reject(full()) : fileStore.write(name, text)) }
  const release = async () => {
    there = false
  }
  await withDiskReserve(onFullDisk, { release }).write('a', 'text')
  expect(await fileStore.read('a')).toBe('text')
})

test('any other failure leaves the reserve unchanged', async () => {
  const broken = { ...memoryStore(), write: () => Promise.reject(new Error('read-only')) }
  const release = () => Promise.reject(new Error('must not be released'))
  await expect(withDiskReserve(broken, { release }).write('a', 'text')).rejects.toThrow('read-only')
})
