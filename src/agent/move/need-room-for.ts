import { type Holder, needRoom, type Part } from '../backup/index.ts'
import type { StoredSnapshot } from '../ports/index.ts'
import type { TakeOverRun } from './take-over.ts'

type Incoming = Pick<TakeOverRun, 'payload' | 'folder'> &
  Readonly<{ context: Pick<TakeOverRun['context'], 'commandId'>; deps: Pick<TakeOverRun['deps'], 'disk' | 'engine' | 'workFolder'> }>

/**
 * All that the snapshot holds comes to this host, and its database is loaded beside its dump. One of an older agent does not say how large
 * that is: then as much as the whole of it. Where volumes lie there must be room for all of it, because the dump may lie on the same disk;
 * where it is fetched to, for the dump alone, which takes no more than the database or the snapshot does. Answers the room that is held from
 * then on. Throws DISK_FULL.
 */
export async function needRoomFor({ deps, context, payload, folder }: Incoming, snapshot: StoredSnapshot): Promise<readonly Part[]> {
  const { disk, engine, workFolder } = deps
  const { totalBytes, databaseBytes } = snapshot
  const held = totalBytes ?? 0
  // What an interrupted try has brought takes no more room.
  const here = await disk.usedBytes(folder).catch(() => 0)
  const volumes = await engine.volumesFolder()
  const database = databaseBytes ?? held
  const part = (bytes: number, path: string): Part => ({ path, bytes: Math.max(0, bytes - here) })
  const dump = part(Math.min(held, database), workFolder)
  const all = part(held + database, volumes ?? workFolder)
  const apart = (await disk.diskOf(dump.path)) !== (await disk.diskOf(all.path))
  for (const one of volumes === undefined ? [all] : [dump, all]) await needRoom(disk, incomingHolder({ context, payload }), [one])
  return apart ? [dump, all] : [all]
}

export const incomingHolder = ({ context, payload }: Pick<Incoming, 'context' | 'payload'>): Holder => ({
  commandId: context.commandId,
  what: `taking over ${payload.slug}`,
})
