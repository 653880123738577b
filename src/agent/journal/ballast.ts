import { open, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Shelf } from './shelf.ts'

/** Room that only the journal and the way back may use: on a full disk an agent must still be able to bring its boxes back, and write down how. */
export type Ballast = Readonly<{
  /** Takes the room again, where the disk has plenty. A disk that has not is no failure here. */
  refill(): Promise<void>
  release(): Promise<void>
}>

const megabyte = 1024 * 1024
const bytes = 16 * megabyte
/** With less than this left after it, the ballast would be what fills the disk. */
const spareBytes = 64 * megabyte

export function fileBallast(path: string): Ballast {
  return {
    refill: async () => {
      const { bavail, bsize } = await statfs(dirname(path)).catch(() => ({ bavail: 0, bsize: 1 }))
      if (bavail * bsize < bytes + spareBytes) return
      // Exclusive: one that is there stays. Real bytes, because a sparse file holds no room.
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

/** As the system says it, or as whoever met it first has told it. */
export const isFullDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'DISK_FULL'].includes((error as { code?: string } | null)?.code ?? '')

/** The same shelf, which gives up the ballast before it gives up a write. */
export const withBallast = (shelf: Shelf, { release }: Pick<Ballast, 'release'>): Shelf => ({
  ...shelf,
  write: async (name, text) => {
    try {
      await shelf.write(name, text)
    } catch (error) {
      if (!isFullDisk(error)) throw error
      await release()
      await shelf.write(name, text)
    }
  },
})
