import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sql } from 'kysely'
import { bytesText, isoNow, plural, problem } from '../../../core/kit/index.ts'
import { type Globals, type Machine, print } from '../../../node/command-line.ts'
import { packageVersion, syncFolder } from '../../../node/index.ts'
import { namesObjects } from '../../app/index.ts'
import { type DialectName, openDatabase } from '../../db/index.ts'
import { objectPlace } from '../../objects/index.ts'
import { settingsOf } from '../installation.ts'
import { copyAuditKeys } from './audit-keys.ts'
import { auditName, databaseNames, objectsName, sealBackup } from './backup-folder.ts'
import { dumpDatabase, sqliteFile } from './copy-database.ts'
import { copyObjects, listObjects } from './copy-objects.ts'

type Options = Globals & Readonly<{ to: string }>

/**
 * `tenantryd backup`: a consistent copy of database and objects in a new folder, while daemons run. It contains no key. Throws ALREADY_EXISTS,
 * NOT_FOUND, CONFIG, DISK_FULL, OBJECT_STORE_UNAVAILABLE and UNAVAILABLE; a failure leaves no folder behind.
 */
export async function backup(machine: Machine, { to, ...globals }: Options): Promise<undefined> {
  const config = settingsOf(machine, globals)
  const { signal, clock } = machine
  const target = resolve(to)
  if (await lstat(target).catch(() => undefined)) throw problem('ALREADY_EXISTS', `${target} exists. fix: name a new folder`)
  const folder = `${target}.unfinished`
  const place = objectPlace(config)
  try {
    await rm(folder, { recursive: true, force: true })
    // Never the folders above it: where a disk is not mounted they are absent.
    await mkdir(folder, { mode: 0o700 })
    const { dialect, lastMigration, hasObjects } = await databaseFacts(config.databaseUrl)
    const objects = join(folder, objectsName)
    // Before and after the database: an object that it names was there already, or was stored meanwhile.
    if (place.kind === 'file') await copyObjects(place.folder, objects, signal)
    await copyAuditKeys(config.dataDir, join(folder, auditName))
    await dumpDatabase({ url: config.databaseUrl, file: join(folder, databaseNames[dialect]), signal })
    if (place.kind === 'file') await copyObjects(place.folder, objects, signal)
    if (place.kind === 'file' && hasObjects && (await listObjects(objects)).length === 0)
      throw problem(
        'OBJECT_STORE_UNAVAILABLE',
        `${place.folder} has no objects, but the database names some. fix: mount its disk, or restore the folder`,
      )
    const facts = { format: 1, at: isoNow(clock), version: packageVersion(), dialect, lastMigration } as const
    const manifest = { ...facts, objects: place.kind === 'file' ? 'included' : 'elsewhere' } as const
    const { files, bytes } = await sealBackup(folder, manifest, signal)
    await rename(folder, target)
    await syncFolder(dirname(target))
    const kept = place.kind === 'file' ? '' : `\nObjects are not included: they stay in ${place.url}`
    const words = `saved ${plural(files, 'file')}, ${bytesText(bytes)}, in ${target}${kept}\n${keysApart}`
    print(machine, globals, { result: { folder: target, files, bytes, ...manifest }, words })
    return undefined
  } catch (error) {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
    throw explain(error, dirname(target))
  }
}

const keysApart = 'Keys are not included. Keep TENANTRY_SECRET_KEY (or secret.key) and TENANTRY_BACKUP_KEY apart from it.'

function explain(error: unknown, folder: string): unknown {
  const code = String((error as { code?: unknown }).code)
  if (code === 'ENOENT') return problem('CONFIG', `${folder} does not exist. fix: mount its disk, or create the folder`, { cause: error })
  if (['ENOSPC', 'SQLITE_FULL'].includes(code)) return problem('DISK_FULL', `No disk space left in ${folder}`, { cause: error })
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR'].includes(code))
    return problem('CONFIG', `${folder} cannot be written to (${code}). fix: name a folder that this user owns`, { cause: error })
  return error
}

/** Throws NOT_FOUND for a database that no daemon has used. */
async function databaseFacts(url: string): Promise<{ dialect: DialectName; lastMigration: string; hasObjects: boolean }> {
  const file = sqliteFile(url)
  if (file !== undefined && !(await lstat(file).catch(() => undefined)))
    throw problem('NOT_FOUND', `There is no database ${file}. fix: pass the settings of the daemon with --config`)
  const { db, dialect, close } = openDatabase(url)
  try {
    if ((await db.introspection.getTables()).length === 0)
      throw problem('NOT_FOUND', 'The database is empty. fix: pass the settings of the daemon with --config')
    const { rows } = await sql<{ name: string }>`select name from schema_migrations order by name desc limit 1`.execute(db)
    return { dialect, lastMigration: rows[0]?.name ?? '', hasObjects: await namesObjects(db) }
  } finally {
    await close()
  }
}
