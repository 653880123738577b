import { stat } from 'node:fs/promises'
import { isProblem } from '../../core/kit/index.ts'
import { systemClock } from '../../node/clock.ts'
import { type Check, failed, passed, warning } from '../../node/command-line.ts'
import { someObjects } from '../app/index.ts'
import type { Config } from '../config/index.ts'
import { openDatabase } from '../db/index.ts'
import { objectPlace, openObjectStore } from '../objects/index.ts'
import { sqliteFile } from './backup/copy-database.ts'

const name = 'files'

/** Checks that the object store for files of spaces is usable. */
export async function objects(config: Config): Promise<Check> {
  try {
    const place = objectPlace(config)
    const some = () => objectsNamedIn(config)
    if (place.kind === 'file' && !(await isThere(place.folder)) && (await some()).length === 0)
      return passed(name, `${place.folder} will be created for the first file`)
    await (await openObjectStore(config, { guard: { someObjects: some, clock: systemClock } })).look()
    if (place.kind === 's3') return passed(name, `stored in ${place.url}`)
    const alone = warning(
      name,
      `stored in ${place.folder}, which other daemons on this database cannot read`,
      'set TENANTRY_OBJECT_STORE to a bucket before you start a second daemon',
    )
    return config.databaseUrl.startsWith('postgres') ? alone : passed(name, `stored in ${place.folder}`)
  } catch (error) {
    if (!isProblem(error)) throw error
    const { message: cause } = (error.cause ?? error) as Error
    return failed(name, `object store unusable: ${cause}`, 'check TENANTRY_OBJECT_STORE, its credentials, and that the bucket exists')
  }
}

/** Some of them; none without a database that can be read: another check reports that. */
async function objectsNamedIn({ databaseUrl }: Config): Promise<readonly string[]> {
  const file = sqliteFile(databaseUrl)
  if (file !== undefined && !(await isThere(file))) return []
  const { db, close } = openDatabase(databaseUrl)
  try {
    return await someObjects(db)
  } catch {
    return []
  } finally {
    await close()
  }
}

const isThere = (folder: string) =>
  stat(folder).then(
    () => true,
    () => false,
  )
