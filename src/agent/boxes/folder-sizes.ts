import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/kit/index.ts'

/** Media change slowly: a size of an hour ago is good enough to weigh an update. */
const freshMs = 60 * 60_000
/** A report does not wait longer than this for one folder; the size is there for the next one. */
const patienceMs = 300
/** Beyond this a folder is too large to be walked for a number that nothing rests on. */
const mostEntries = 2_000_000

/** How much lies in a folder, in bytes; null while that is not known. */
export type FolderSizes = (folder: string) => Promise<number | null>

/** Walks folders one after the other, beside the reports that ask for them. */
export function folderSizes(clock: Clock): FolderSizes {
  const known = new Map<string, { bytes: number | null; atMs: number }>()
  const underWay = new Map<string, Promise<void>>()
  let last: Promise<void> = Promise.resolve()
  const measure = (folder: string): Promise<void> => {
    const walked = last.then(async () => {
      const bytes = await walk(folder).catch(() => null)
      known.set(folder, { bytes, atMs: clock.monotonicMs() })
      underWay.delete(folder)
    })
    last = walked
    underWay.set(folder, walked)
    return walked
  }
  return async (folder) => {
    const before = known.get(folder)
    if (before && clock.monotonicMs() - before.atMs < freshMs) return before.bytes
    const enough = new AbortController()
    await Promise.race([underWay.get(folder) ?? measure(folder), clock.sleep(patienceMs, enough.signal)])
    enough.abort()
    return known.get(folder)?.bytes ?? null
  }
}

async function walk(folder: string): Promise<number | null> {
  let bytes = 0
  let entries = 0
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for await (const entry of await opendir(next)) {
      if (++entries > mostEntries) return null
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      else bytes += await sizeOf(path)
    }
  }
  return bytes
}

// What vanishes meanwhile takes no space.
const sizeOf = (path: string): Promise<number> =>
  lstat(path).then(
    ({ size }) => size,
    () => 0,
  )
