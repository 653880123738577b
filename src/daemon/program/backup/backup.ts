import { lstat, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sql } from 'kysely'
import { bytesText, isoNow, plural, problem } from '../../../core/kit/index.ts'
import { type Globals, type Machine, print } from '../../../node/command-line.ts'
import { buildVersion, syncFolder } from '../../../node/index.ts'
import { namedObjects } from '../../app/index.ts'
import type { Config } from '../../config/index.ts'
import { type DialectName, openDatabase } from '../../db/index.ts'
import { objectPlace } from '../../objects/index.ts'
import { settingsOf } from '../installation.ts'
import { copyAuditKeys } from './audit-keys.ts'
import { auditName, type BackupManifest, databaseNames, objectsName, type Sums, sealBackup, sumFiles } from './backup-folder.ts'
import { dumpDatabase, sqliteFile } from './copy-database.ts'
import { copyObjects, listObjects } from './copy-objects.ts'

type Options = Globals & Readonly<{ to: string }>

/**
 * `tenantryd backup`: a consistent copy of database and objects in a new folder, while daemons run. It contains no key. Throws ALREADY_EXISTS,
 * NOT_FOUND, CONFIG, DISK_FULL, OBJECT_STORE_UNAVAILABLE and UNAVAILABLE; a failure leaves no folder behind, except where
 * objects are missing or damaged: what is there is saved.
 */
export async function backup(machine: Machine, { to, ...globals }: Options): Promise<undefined> {
  const config = settingsOf(machine, globals)
  const target = resolve(to)
  if (await lstat(target).catch(() => undefined)) throw taken(target)
  const place = objectPlace(config)
  let folder: string | undefined
  try {
    // Another run has its own folder. Folders above it are never made: where a disk is not mounted they are absent.
    folder = await mkdtemp(`${target}.unfinished-`)
    const { manifest, sums, faults } = await fill(machine, config, folder)
    const { files, bytes } = await sealBackup(folder, manifest, sums)
    await rename(folder, target)
    folder = undefined
    await syncFolder(dirname(target))
    if (place.kind === 'file' && faults.missing.length + faults.damaged.length > 0) throw incomplete(target, place.folder, faults)
    const kept = place.kind === 'file' ? '' : `\nObjects are not included: they stay in ${place.url}`
    const words = `saved ${plural(files, 'file')}, ${bytesText(bytes)}, in ${target}${kept}\n${keysApart}`
    print(machine, globals, { result: { folder: target, files, bytes, ...manifest }, words })
    return undefined
  } catch (error) {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined)
    throw explain(error, target)
  }
}

type Filled = Readonly<{ manifest: BackupManifest; sums: Sums; faults: Faults }>

async function fill({ signal, clock }: Machine, config: Config, folder: string): Promise<Filled> {
  const { databaseUrl: url } = config
  const { dialect, lastMigration } = await databaseFacts(url)
  const place = objectPlace(config)
  const objects = join(folder, objectsName)
  // Before and after the database: an object that it names was there already, or was stored meanwhile.
  if (place.kind === 'file') await copyObjects(place.folder, objects, { signal, replace: false })
  await copyAuditKeys(config.dataDir, join(folder, auditName))
  await dumpDatabase({ url, file: join(folder, databaseNames[dialect]), signal })
  const named = await readNamed(url)
  if (place.kind === 'file') await copyObjects(place.folder, objects, { signal, replace: false })
  if (place.kind === 'file' && named.length > 0 && (await listObjects(objects)).length === 0)
    throw problem(
      'OBJECT_STORE_UNAVAILABLE',
      `${place.folder} has no objects, but the database names some. fix: mount its disk, or restore the folder`,
    )
  const sums = await sumFiles(folder, signal)
  const faults = place.kind === 'file' ? await findFaults(url, named, sums) : { missing: [], damaged: [] }
  const { missing, damaged } = faults
  const manifest: BackupManifest = {
    ...{ format: 1, at: isoNow(clock), version: buildVersion(), dialect, lastMigration },
    objects: place.kind === 'file' ? 'included' : 'elsewhere',
    ...(missing.length > 0 ? { missingObjects: missing.length } : {}),
    ...(damaged.length > 0 ? { damagedObjects: damaged.length } : {}),
  }
  return { manifest, sums, faults }
}

async function readNamed(url: string): ReturnType<typeof namedObjects> {
  const { db, close } = openDatabase(url)
  try {
    return await namedObjects(db)
  } finally {
    await close()
  }
}

type Named = Awaited<ReturnType<typeof namedObjects>>
/** By their keys. */
type Faults = Readonly<{ missing: readonly string[]; damaged: readonly string[] }>

/** Objects without a copy, or with another content than the database names, that it still names: others were erased meanwhile. */
async function findFaults(url: string, named: Named, sums: Sums): Promise<Faults> {
  const sumOf = (key: string) => sums.get(`${objectsName}/${key}`)
  const isFaulty = ({ key, sha256 }: Named[number]) => sumOf(key) === undefined || (sha256 !== null && sumOf(key) !== sha256)
  const faulty = new Set(named.filter(isFaulty).map(({ key }) => key))
  if (faulty.size === 0) return { missing: [], damaged: [] }
  const still = (await readNamed(url)).map(({ key }) => key).filter((key) => faulty.has(key))
  return { missing: still.filter((key) => sumOf(key) === undefined), damaged: still.filter((key) => sumOf(key) !== undefined) }
}

function incomplete(target: string, store: string, { missing, damaged }: Faults) {
  const faults = [
    ...(missing.length > 0 ? [`lacks ${plural(missing.length, 'object')} that the database names (${missing[0]})`] : []),
    ...(damaged.length > 0
      ? [`has ${plural(damaged.length, 'object')} with another checksum than the database names (${damaged[0]})`]
      : []),
  ]
  return problem(
    'OBJECT_STORE_UNAVAILABLE',
    `${target} is saved, but ${store} ${faults.join(' and ')}. fix: mount the disk that has them, or copy them from \`objects\` of an older backup, then back up again`,
  )
}

const keysApart = 'Keys are not included. Keep TENANTRY_SECRET_KEY (or secret.key) and TENANTRY_BACKUP_KEY apart from it.'

function explain(error: unknown, target: string): unknown {
  const folder = dirname(target)
  const code = String((error as { code?: unknown }).code)
  if (['ENOTEMPTY', 'EEXIST'].includes(code)) return taken(target)
  if (code === 'ENOENT') return problem('CONFIG', `${folder} does not exist. fix: mount its disk, or create the folder`, { cause: error })
  if (['ENOSPC', 'SQLITE_FULL'].includes(code)) return problem('DISK_FULL', `No disk space left in ${folder}`, { cause: error })
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR'].includes(code))
    return problem('CONFIG', `${folder} cannot be written to (${code}). fix: name a folder that this user owns`, { cause: error })
  return error
}

const taken = (target: string) => problem('ALREADY_EXISTS', `${target} exists. fix: name a new folder`)

/** Throws NOT_FOUND for a database that no daemon has used. */
async function databaseFacts(url: string): Promise<{ dialect: DialectName; lastMigration: string }> {
  const file = sqliteFile(url)
  if (file !== undefined && !(await lstat(file).catch(() => undefined)))
    throw problem('NOT_FOUND', `There is no database ${file}. fix: pass the settings of the daemon with --config`)
  const { db, dialect, close } = openDatabase(url)
  try {
    if ((await db.introspection.getTables()).length === 0)
      throw problem('NOT_FOUND', 'The database is empty. fix: pass the settings of the daemon with --config')
    const { rows } = await sql<{ name: string }>`select name from schema_migrations order by name desc limit 1`.execute(db)
    return { dialect, lastMigration: rows[0]?.name ?? '' }
  } finally {
    await close()
  }
}
