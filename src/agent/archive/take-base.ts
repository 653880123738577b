import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ArchivePart, lsnText } from '../../core/boxes/index.ts'
import { isoNow, randomText } from '../../core/kit/index.ts'
import type { Repository } from '../ports/index.ts'
import { stableControl } from '../update/index.ts'
import type { ArchiveDeps, Opened } from './archive.types.ts'
import { writeFacts } from './facts.ts'
import type { Line } from './spool.ts'

// A base is a backup by PostgreSQL's low-level API, as a hot copy, but straight into the store: the data folder is read while the server writes.

type Basing = Readonly<{ line: Line; repository: Repository; folder: string; signal: AbortSignal }>

/** The files that belong to the running server; the log is stored by its segments. The folders themselves must be there. */
const emptied = ['pg_wal', 'pg_replslot', 'pg_stat_tmp']
const leftOut = ['postmaster.pid', 'postmaster.opts', join('global', 'pg_control')]

export async function takeBase(deps: ArchiveDeps, opened: Opened, { line, repository, folder, signal }: Basing): Promise<ArchivePart> {
  const { box, facts, log } = opened
  const { slug } = box
  const { database } = facts.paths
  const inData = (names: readonly string[]) => names.map((name) => join(database, name))
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const backup = await deps.servers.beginBackup(box, `tenantry_base_${randomText(deps.random, 8).toLowerCase()}`, signal)
  try {
    const files = { slug, tags: 'files of a base', paths: [database], exclude: inData(leftOut), emptied: inData(emptied) } as const
    const data = await deps.snapshots.takePart(repository, files, signal)
    await writeFile(join(folder, 'pg_control'), await stableControl(database), { mode: 0o600 })
    await writeFile(join(folder, 'backup_label'), await backup.finishCopy(), { mode: 0o600 })
    await writeFacts(folder, facts)
    const { flushed } = await log.position()
    const range = { from: backup.fromLsn, to: lsnText(flushed), at: isoNow(deps.clock) }
    const tags = { kind: 'base', line: line.line, ...range, data: data.id } as const
    const taken = await deps.snapshots.takePart(repository, { slug, tags, paths: [folder], exclude: [] }, signal)
    return { snapshotId: taken.id, addedBytes: data.addedBytes + taken.addedBytes, ...tags }
  } finally {
    await backup.end()
    await rm(folder, { recursive: true, force: true })
  }
}
