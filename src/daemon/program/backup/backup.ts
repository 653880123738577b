import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sql } from 'kysely'
import { bytesText, isoNow, plural, problem } from '../../../core/kit/index.ts'
import { type Globals, type Machine, print } from '../../../node/command-line.ts'
import { packageVersion, syncFolder } from '../../../node/index.ts'
import { namedObjects } from '../../app/index.ts'
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
 * NOT_FOUND, CONFIG, DISK_FULL, OBJECT_STORE_UNAVAILABLE and UNAVAILABLE; a failure leaves no folder behind, except where
 * objects are missing: what is there is saved.
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
    const { dialect, lastMigration, named } = await databaseFacts(config.databaseUrl)
    const objects = join(folder, objectsName)
    // Before and after the database: an object that it names was there already, or was stored meanwhile.
    if (place.kind === 'file') await copyObjects(place.folder, objects, signal)
    await copyAuditKeys(config.dataDir, join(folder, auditName))
    await dumpDatabase({ url: config.databaseUrl, file: join(folder, databaseNames[dialect]), signal })
    if (place.kind === 'file') await copyObjects(place.folder, objects, signal)
    const copied = place.kind === 'file' ? new Set(await listObjects(objects)) : undefined
    if (place.kind === 'file' && named.length > 0 && copied?.size === 0)
      throw problem(
        'OBJECT_STORE_UNAVAILABLE',
        `${place.folder} has no objects, but the database names some. fix: mount its disk, or restore the folder`,
      )
    const missing = copied
      ? await missingObjects(
          config.databaseUrl,
          named.filter((key) => !copied.has(key)),
        )
      : []
    const facts = { format: 1, at: isoNow(clock), version: packageVersion(), dialect, lastMigration } as const
    const manifest = {
      ...facts,
      objects: place.kind === 'file' ? 'included' : 'elsewhere',
      ...(missing.length > 0 ? { missingObjects: missing.length } : {}),
    } as const
    const { files, bytes } = await sealBackup(folder, manifest, signal)
    await rename(folder, target)
    await syncFolder(dirname(target))
    const kept = place.kind === 'file' ? '' : `\nObjects are not included: they stay in ${place.url}`
    const words = `saved ${plural(files, 'file')}, ${bytesText(bytes)}, in ${target}${kept}\n${keysApart}`
    if (place.kind === 'file' && missing.length > 0) throw incomplete(target, place.folder, missing)
    print(machine, globals, { result: { folder: target, files, bytes, ...manifest }, words })
    return undefined
  } catch (error) {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
    throw explain(error, dirname(target))
  }
}

/** Keys without a copy that the database still names: others were erased meanwhile. */
async function missingObjects(url: string, absent: readonly string[]): Promise<readonly string[]> {
  if (absent.length === 0) return []
  const { db, close } = openDatabase(url)
  try {
    const named = new Set(await namedObjects(db))
    return absent.filter((key) => named.has(key))
  } finally {
    await close()
  }
}

const incomplete = (target: string, store: string, missing: readonly string[]) =>
  problem(
    'OBJECT_STORE_UNAVAILABLE',
    `${target} is saved, but ${store} lacks ${plural(missing.length, 'object')} that the database names (${missing[0]}). fix: mount the disk that has them, or copy them from \`objects\` of an older backup, then back up again`,
  )

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
async function databaseFacts(url: string): Promise<{ dialect: DialectName; lastMigration: string; named: readonly string[] }> {
  const file = sqliteFile(url)
  if (file !== undefined && !(await lstat(file).catch(() => undefined)))
    throw problem('NOT_FOUND', `There is no database ${file}. fix: pass the settings of the daemon with --config`)
  const { db, dialect, close } = openDatabase(url)
  try {
    if ((await db.introspection.getTables()).length === 0)
      throw problem('NOT_FOUND', 'The database is empty. fix: pass the settings of the daemon with --config')
    const { rows } = await sql<{ name: string }>`select name from schema_migrations order by name desc limit 1`.execute(db)
    return { dialect, lastMigration: rows[0]?.name ?? '', named: await namedObjects(db) }
  } finally {
    await close()
  }
}
