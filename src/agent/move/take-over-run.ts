import type { BoxCommandPayload } from '../../core/boxes/index.ts'
import { type DiskUse, reserveDiskSpace, type SpaceOwner } from '../backup/index.ts'
import type { CommandContext, LocalBox, Repository, StoredSnapshot } from '../ports/index.ts'
import type { MoveDeps } from './fence-and-stop.ts'

/** One box that is being rebuilt on this host. */
export type TakeOverRun = Readonly<{
  deps: MoveDeps
  context: CommandContext
  payload: Payload
  /** As it is recorded once it is proven, except its migrations head, which the snapshot has. */
  box: LocalBox
  folder: string
  repository(): Promise<Repository>
  /** Asks the daemon whether the box is still assigned to this host; `once` per life of the agent. Throws LEASE_LOST. */
  confirm(when: 'once' | 'again', signal: AbortSignal): Promise<void>
}>

/**
 * Reserves space for the whole snapshot and for the loaded database beside its dump. If the database size is unknown, the
 * total size is used. The volumes' disk needs space for everything, because the dump may be on the same disk; the work folder only for the
 * dump. Returns the reserved space. Throws DISK_FULL.
 */
export async function reserveSpaceFor({ deps, context, payload, folder }: Incoming, snapshot: StoredSnapshot): Promise<readonly DiskUse[]> {
  const { disk, engine, workFolder } = deps
  const { totalBytes, databaseBytes } = snapshot
  const held = totalBytes ?? 0
  // Data that an interrupted try has fetched already uses its space.
  const here = await disk.usedBytes(folder).catch(() => 0)
  const volumes = await engine.volumesFolder()
  const database = databaseBytes ?? held
  const part = (bytes: number, path: string): DiskUse => ({ path, bytes: Math.max(0, bytes - here) })
  const dump = part(Math.min(held, database), workFolder)
  const all = part(held + database, volumes ?? workFolder)
  const apart = (await disk.diskOf(dump.path)) !== (await disk.diskOf(all.path))
  for (const one of volumes === undefined ? [all] : [dump, all]) await reserveDiskSpace(disk, incomingHolder({ context, payload }), [one])
  return apart ? [dump, all] : [all]
}

export type Payload = BoxCommandPayload<typeof kind>

export type Incoming = Pick<TakeOverRun, 'payload' | 'folder'> &
  Readonly<{ context: Pick<TakeOverRun['context'], 'commandId'>; deps: Pick<TakeOverRun['deps'], 'disk' | 'engine' | 'workFolder'> }>

export const incomingHolder = ({ context, payload }: Pick<Incoming, 'context' | 'payload'>): SpaceOwner => ({
  commandId: context.commandId,
  what: `taking over ${payload.slug}`,
})

export const kind = 'tenant-box.take_over'
