import { lchown, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DatabaseCopy } from '../../core/boxes/index.ts'
import { problem, randomText } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { runConcurrently } from '../backup/index.ts'
import { readPlainFile } from '../boxes/index.ts'
import type { ForeignContent, ForeignDatabase } from '../ports/index.ts'
import { startDatabase } from '../rebuild/index.ts'
import {
  controlOf,
  copyRunningDatabase,
  copySegments,
  dataFolderIn,
  defaultBytesPerSecond,
  linkToOutside,
  paceOf,
  type RunningCopy,
  segmentsBetween,
  startOfSegment,
  within,
} from '../update/index.ts'
import { databaseFolder, freshDatabase, volumeOf } from './box-volumes.ts'
import type { ImportRun } from './import-run.ts'

// The files of the foreign database are copied into the box's volume while it serves. Once its chat server is stopped, the rest of its log is
// copied, and the server of the box recovers to the end of it. A failure never fails the import: then the database is dumped.

/** Files of the box's own server: those of the stack may name files, addresses and libraries that the box does not have. */
const settingsFiles = ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf', 'pg_ident.conf']
const leftOut = new Set([...settingsFiles, 'recovery.signal', 'standby.signal'])

export type Base = RunningCopy | Readonly<{ dumped: string }>

export async function endBackup({ backup }: Pick<ImportRun, 'backup'>): Promise<void> {
  const { open } = backup
  backup.open = undefined
  await open?.end()
}

type Source = Readonly<{ database: ForeignDatabase; planned: DatabaseCopy }>

/** Copies the files while the stack serves. The volume of the box has a new database where they are not copied. */
export async function copyBase(run: ImportRun, { database, planned }: Source, signal: AbortSignal): Promise<Base> {
  if (planned.mode === 'dump' || !database.files) return { dumped: planned.reason ?? 'the data of its PostgreSQL are not accessible' }
  const limit = within({ clock: run.deps.clock, signal }, run.payload.deadlineMs / 2)
  try {
    return await copyFiles(run, database, { ...database.files, signal: limit.signal })
  } catch (error) {
    signal.throwIfAborted()
    await endBackup(run)
    await freshDatabase(run, signal)
    return { dumped: reportDump(run, 'copy', error as Error) }
  } finally {
    limit.end()
  }
}

function reportDump({ context }: ImportRun, step: string, { message }: Error): string {
  const reason = `the files of the database could not be copied: ${message}`.slice(0, 300)
  context.progress({ step, detail: reason })
  return reason
}

type Files = Readonly<{ folder: string; systemId: string; signal: AbortSignal }>

async function copyFiles(run: ImportRun, database: ForeignDatabase, { folder, systemId, signal }: Files): Promise<RunningCopy> {
  const { deps, box, context } = run
  // An interrupted try may have left both.
  await endBackup(run)
  const isPrepared = (await deps.engine.containers(box.project)).some(({ service, state }) => service === 'postgres' && state === 'running')
  if (!isPrepared) await freshDatabase(run, signal)
  const into = await databaseFolder(run)
  await assertCopyable({ folder, systemId, into })
  const settings = await Promise.all(settingsFiles.map(async (name) => [name, await readIfThere(join(into, name))] as const))
  const owner = await lstat(join(into, 'PG_VERSION'))
  await deps.engine.discard(box.project, ['postgres'])
  for (const name of await readdir(into)) await rm(join(into, name), { recursive: true, force: true })
  // The server may still be ending the session of an earlier try.
  const name = `tenantry_import_${randomText(deps.random, 12)}`
  const backup = await deps.servers.beginForeignBackup(database, { slug: box.slug, name }, context.signal)
  run.backup.open = backup
  const pace = paceOf(deps, { commandId: context.commandId, bytesPerSecond: defaultBytesPerSecond, folders: [folder, into], signal })
  const isLeftOut = (path: string) => leftOut.has(path)
  const copied = await copyRunningDatabase({ from: folder, into, data: folder, backup }, { pace, signal, isLeftOut })
  for (const [file, text] of settings) if (text !== undefined) await writeFileAtomic(join(into, file), text)
  await giveTo(into, owner)
  return copied
}

async function assertCopyable({ folder, systemId, into }: Readonly<{ folder: string; systemId: string; into: string }>): Promise<void> {
  if ((await controlOf(folder)).systemId !== systemId)
    throw problem('CONFLICT', `${folder} is not the data folder of the database that runs`)
  const outside = await linkToOutside(folder)
  if (outside !== undefined) throw problem('CONFLICT', `${outside} in ${folder} is a link out of it`)
  const [there, here] = await Promise.all([folder, into].map(async (one) => (await readPlainFile(one, 'PG_VERSION'))?.trim()))
  if (there !== here) throw problem('CONFLICT', `it has files of PostgreSQL ${there}, and the box runs ${here}`)
}

/** Images run PostgreSQL as different users. No link is followed: the files are of others. */
async function giveTo(folder: string, { uid, gid }: Readonly<{ uid: number; gid: number }>): Promise<void> {
  if (process.getuid?.() !== 0) return
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const { parentPath, name } of entries) await lchown(join(parentPath, name), uid, gid)
  await lchown(folder, uid, gid)
}

/** The stack is stopped, but for its database: completes the copy, lets the box's server recover it, and compares the rows of all tables. */
export async function takeCopy(
  run: ImportRun,
  database: ForeignDatabase,
  { base, signal }: Readonly<{ base: RunningCopy; signal: AbortSignal }>,
) {
  const { deps, box, backup } = run
  const { servers } = deps
  if (!backup.open || !database.files) throw problem('CONFLICT', 'the agent was restarted after the copy')
  const { segment, segmentBytes } = base
  // The copy may have other data folders in it.
  const into = await dataFolderIn((await volumeOf(run, 'postgres'))[1], database.files.systemId)
  const next = await backup.open.switchLog()
  await copySegments({ from: database.files.folder, into }, segmentsBetween(segment, next, segmentBytes).slice(0, -1), signal)
  let content: ForeignContent | undefined
  const read = async (within: AbortSignal) => {
    content = await servers.foreignContent(database, box.slug, within)
  }
  const recover = async (within: AbortSignal) => {
    await startDatabase({ ...deps, isReady: () => servers.copyReady(box, database) }, box, within)
    const { redo } = await controlOf(into)
    if (redo < startOfSegment(next, segmentBytes))
      throw problem('RESTORE_FAILED', `the copy of ${box.slug} did not recover to the end of the log`)
    await servers.adoptCopy(box, database, within)
  }
  await runConcurrently([read, recover], signal)
  const found = content as NonNullable<typeof content>
  await servers.compareRows(box, found.rows, signal)
  await servers.finishDatabaseLoad(box, undefined, signal)
  return found
}

/** Why the copy is of no use. */
export const reportFailedCopy = (run: ImportRun, error: Error): string => reportDump(run, 'data', error)
