import { open, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { FileStore } from './file-store.ts'

/** Disk space reserved for the journal and rollbacks: on a full disk an agent must still be able to roll back its boxes and record it. */
export type DiskReserve = Readonly<{
  /** Reserves the space again if the disk has plenty; otherwise does nothing. */
  refill(): Promise<void>
  release(): Promise<void>
}>

const megabyte = 1024 * 1024
const bytes = 16 * megabyte
/** With less than this left after it, the reserve would be what fills the disk. */
const spareBytes = 64 * megabyte

export function fileDiskReserve(path: string): DiskReserve {
  return {
    refill: async () => {
      const { bavail, bsize } = await statfs(dirname(path)).catch(() => ({ bavail: 0, bsize: 1 }))
      if (bavail * bsize < bytes + spareBytes) return
      // Exclusive: an existing file stays. Real bytes, because a sparse file reserves nothing.
      const file = await open(path, 'wx', 0o600).catch(() => undefined)
      if (!file) return
      try {
        for (let written = 0; written < bytes; written += megabyte) await file.write(Buffer.alloc(megabyte, 1))
        await file.sync()
      } catch {
        await rm(path, { force: true })
      } finally {
        await file.close()
      }
    },
    release: () => rm(path, { force: true }),
  }
}

/** As the system reports it, or as a problem. */
export const isFullDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'DISK_FULL'].includes((error as { code?: string } | null)?.code ?? '')

/** The same store, which releases the reserve before a write fails. */
export const withDiskReserve = (store: FileStore, { release }: Pick<DiskReserve, 'release'>): FileStore => ({
  ...store,
  write: async (name, text) => {
    try {
      await store.write(name, text)
    } catch (error) {
      if (!isFullDisk(error)) throw error
      await release()
      await store.write(name, text)
    }
  },
})
