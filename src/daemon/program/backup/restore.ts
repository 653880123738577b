import { lstat, mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isProblem, plural, problem } from '../../../core/kit/index.ts'
import { type Globals, type Machine, print } from '../../../node/command-line.ts'
import { writeFileAtomic } from '../../../node/index.ts'
import { sealedColumns } from '../../app/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { Config } from '../../config/index.ts'
import { type DialectName, knownMigrations, migrate, openDatabase } from '../../db/index.ts'
import { objectPlace } from '../../objects/index.ts'
import { makeRolloutBus, pauseRunningRollouts } from '../../rollouts/index.ts'
import { opensAll, readKeyring } from '../../sealed/index.ts'
import { recordRestoredDatabase } from '../../snapshots/index.ts'
import { restoringFile } from '../../start-conditions.ts'
import { settingsOf } from '../installation.ts'
import { loadAuditKeys } from './audit-keys.ts'
import { auditName, type BackupManifest, databaseNames, objectsName, openBackup } from './backup-folder.ts'
import { loadDatabase, sqliteFile } from './copy-database.ts'
import { copyObjects, listObjects } from './copy-objects.ts'

type Options = Globals & Readonly<{ from: string; check?: boolean }>

/**
 * `tenantryd restore`: checks a backup, and fills an empty database and an empty store of objects from it. With `--check` it stops after the
 * checks of the files. Throws BACKUP_INVALID, DATABASE_NEWER, CONFLICT, CONFIG and SEALED_UNREADABLE.
 */
export async function restore(machine: Machine, { from, check = false, ...globals }: Options): Promise<undefined> {
  const { signal } = machine
  const folder = resolve(from)
  const manifest = await openBackup(folder, signal)
  if (check) {
    print(machine, globals, {
      result: { folder, ...manifest },
      words: `${folder} is ${lacking(manifest) || 'complete'}: ${describe(manifest)}`,
    })
    return undefined
  }
  const config = settingsOf(machine, globals)
  await assertRestorable(config, folder, manifest)
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  await writeFileAtomic(restoringFile(config.dataDir), `${folder}\n`)
  const place = objectPlace(config)
  // The database last: without it nothing was restored.
  if (place.kind === 'file' && manifest.objects === 'included')
    await copyObjects(join(folder, objectsName), place.folder, { signal, replace: true })
  await loadAuditKeys(join(folder, auditName), config.dataDir)
  await loadDatabase({ url: config.databaseUrl, file: join(folder, databaseNames[manifest.dialect]), signal })
  await finish(machine, config, manifest)
  const elsewhere = manifest.objects === 'elsewhere' ? '\nObjects are not in it: they are in the bucket of its daemon' : ''
  const lack = lacking(manifest)
  const words = `restored ${describe(manifest)}${lack && `, ${lack}`}${elsewhere}\nnext:  tenantryd serve, then tenantry rollouts list`
  print(machine, globals, { result: { folder, ...manifest }, words })
  return undefined
}

/** Empty for a backup that has all objects that its database names. */
function lacking({ missingObjects, damagedObjects }: BackupManifest): string {
  const faults = [
    ...(missingObjects === undefined ? [] : [`without ${plural(missingObjects, 'object')} that were missing then`]),
    ...(damagedObjects === undefined ? [] : [`with ${plural(damagedObjects, 'object')} that were damaged then`]),
  ]
  return faults.length === 0 ? '' : `as it was saved, ${faults.join(' and ')}`
}

const describe = ({ at, version, dialect }: BackupManifest): string =>
  `the ${dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'} database of ${at}, made by version ${version}`

async function assertRestorable(
  config: Config,
  folder: string,
  { version, dialect, lastMigration, objects }: BackupManifest,
): Promise<void> {
  const wanted: DialectName = config.databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres'
  if (dialect !== wanted)
    throw problem('CONFLICT', `The backup is of ${dialect}, and TENANTRY_DATABASE is ${wanted}. fix: set it to ${dialect}`)
  if (!knownMigrations.includes(lastMigration))
    throw problem(
      'DATABASE_NEWER',
      `The backup has a migration that this version does not know (${lastMigration}). fix: restore it with the build of ${version} that made it`,
    )
  const keys = await readKeyring(config)
  if (!keys)
    throw problem(
      'CONFIG',
      `The key that sealed its secrets is missing. fix: put it into ${join(config.dataDir, 'secret.key')} (mode 0600)`,
    )
  const place = objectPlace(config)
  if (objects === 'included' && place.kind !== 'file')
    throw problem('CONFLICT', 'The backup has objects, and TENANTRY_OBJECT_STORE is a bucket. fix: set it to an empty folder')
  if (place.kind === 'file') await assertNoOthers(place.folder, folder)
  await assertEmpty(config)
}

/** Objects of this backup may be there from a restore that was interrupted. */
async function assertNoOthers(objects: string, backup: string): Promise<void> {
  const ours = new Set(await listObjects(join(backup, objectsName)))
  const other = (await listObjects(objects)).find((name) => !ours.has(name))
  if (other !== undefined) throw problem('CONFLICT', `${objects} has objects of another installation (${other}). fix: move the folder away`)
}

async function assertEmpty({ databaseUrl }: Config): Promise<void> {
  const file = sqliteFile(databaseUrl)
  if (file !== undefined) {
    // SQLite would apply the log of a former database to the restored one.
    for (const path of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`])
      if (await lstat(path).catch(() => undefined))
        throw problem('CONFLICT', `${path} exists already. fix: move the former database away, with its -wal and -shm`)
    return
  }
  const { db, close } = openDatabase(databaseUrl)
  try {
    const [table] = await db.introspection.getTables()
    if (table)
      throw problem('CONFLICT', `The database has tables already (${table.name}). fix: name an empty database in TENANTRY_DATABASE`)
  } finally {
    await close()
  }
}

/** Brings the schema up to this version, and proves that the key opens what is sealed. */
async function finish({ clock }: Machine, config: Config, { at, version }: BackupManifest): Promise<void> {
  const keyring = await readKeyring(config)
  const { db, close } = openDatabase(config.databaseUrl)
  try {
    await migrate(db)
    const actor = { kind: 'system', name: 'tenantryd' } as const
    await db.transaction().execute(async (tx) => {
      await recordRestoredDatabase({ tx, clock }, at)
      await recordAudit(tx, clock, { actor, action: 'installation.restored', data: { backupAt: at, version } })
    })
    // Decisions since the backup are lost: an operator may have aborted one.
    await pauseRunningRollouts({ db, clock, rolloutBus: makeRolloutBus() }, actor, `the database was restored from the backup of ${at}`)
    await rm(restoringFile(config.dataDir), { force: true })
    if (keyring) for (const column of sealedColumns) await opensAll({ db, keyring }, column)
  } catch (error) {
    if (!isProblem(error, 'SEALED_UNREADABLE')) throw error
    const fix = 'fix: start the daemon with the TENANTRY_SECRET_KEY that it had when the backup was made'
    throw problem('SEALED_UNREADABLE', `Everything is restored, but ${error.message.replace(/ fix:.*$/s, '')} ${fix}`, { cause: error })
  } finally {
    await close()
  }
}
