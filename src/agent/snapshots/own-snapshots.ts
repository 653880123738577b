import { join } from 'node:path'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'

/** More than a box keeps in years. */
const maxSnapshots = 2_000

/**
 * The snapshots that this host took itself, one file for each box. A snapshot's id is the checksum of all of its content, so no other host can
 * make another snapshot of a recorded id.
 */
export type OwnSnapshots = Readonly<{
  record(slug: string, id: string): Promise<void>
  has(slug: string, id: string): Promise<boolean>
}>

export function ownSnapshots(folder: string): OwnSnapshots {
  const fileOf = (slug: string) => join(folder, 'own-snapshots', encodeURIComponent(slug))
  const read = async (slug: string) => ((await readIfThere(fileOf(slug))) ?? '').split('\n').filter(Boolean)
  return {
    record: async (slug, id) => writeFileAtomic(fileOf(slug), `${[...(await read(slug)), id].slice(-maxSnapshots).join('\n')}\n`),
    has: async (slug, id) => (await read(slug)).includes(id),
  }
}
