import { plural } from '../kit/index.ts'
import { whyNoHotCopy } from './hot-copy.ts'
import type { DatabaseEvidence } from './import-evidence.ts'

/** Evidence that decides how the database is taken. */
type Copied = Pick<
  DatabaseEvidence,
  | 'version'
  | 'hotCopy'
  | 'dataFolder'
  | 'dataMount'
  | 'locale'
  | 'ownObjects'
  | 'extensions'
  | 'otherSchemas'
  | 'otherDatabases'
  | 'otherClients'
  | 'name'
>

/**
 * Why the files of a foreign database are not copied while it serves; undefined if they are. A copy has the whole server: what a dump leaves
 * behind would come along.
 */
export function whyDumped(database: Copied, postgres: string): string | undefined {
  const { version, dataFolder, dataMount, locale, ownObjects, extensions, otherSchemas, otherDatabases, otherClients, name } = database
  const major = (of: string) => Number.parseInt(of, 10)
  if (major(version) !== major(postgres)) return `the stack runs PostgreSQL ${version}, the box ${postgres}`
  const notHot = whyNoHotCopy({ facts: database.hotCopy, databaseBytes: null, freeDiskBytes: null })
  if (notHot !== undefined) return notHot
  if (dataFolder === null || dataMount === 'none') return 'the data of its PostgreSQL are in no volume'
  if (locale !== null) return `the database sorts by ${locale}, a box by C`
  if (name === 'postgres' || name.startsWith('template')) return `the database of the chat server has the name ${name}`
  const left = [
    ...(otherDatabases.length > 0 ? [`other databases (${otherDatabases.slice(0, 3).join(', ')})`] : []),
    ...(otherClients.length > 0 ? [`other clients (${otherClients.slice(0, 3).join(', ')})`] : []),
    ...(otherSchemas.length > 0 ? [plural(otherSchemas.length, 'other schema')] : []),
    ...(extensions.length > 0 ? [`extensions (${extensions.slice(0, 3).join(', ')})`] : []),
    ...ownObjects.slice(0, 3),
  ]
  return left.length === 0 ? undefined : `its PostgreSQL also has ${left.join(' and ')}`
}
