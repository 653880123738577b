import type { PageEnd } from '../../../core/contract/index.ts'
import type { ModuleManifest } from '../../../core/modules/index.ts'
import type { Submission } from '../../../core/store/index.ts'
import { type DbOrTx, forUpdate, newestFirst, type Tx } from '../../db/index.ts'
import { packageKey } from './deps.ts'
import type { StoreDeveloperTable, StoreSubmissionTable } from './store.tables.ts'

/** A submission with its developer. `id` is that of the submission. */
export type SubmissionRecord = Submission & Readonly<{ id: string; developerId: string; artifactId: string }>

const toRecord = (row: StoreSubmissionTable): SubmissionRecord => ({
  ...{ id: row.id, submissionId: row.id, developerId: row.developer_id, artifactId: row.artifact_id, artifactPath: row.artifact_id },
  ...{ moduleId: row.module_id, name: row.name, version: row.version, status: row.status, checksum: row.checksum },
  manifest: JSON.parse(row.manifest) as ModuleManifest,
  ...{ warnings: JSON.parse(row.warnings), scan: JSON.parse(row.scan), test: JSON.parse(row.test) },
  review: row.review === null ? null : JSON.parse(row.review),
  createdAt: row.created_at,
})

type NewSubmission = Omit<Submission, 'review' | 'artifactPath'> & Readonly<{ developerId: string; artifactId: string }>

export async function insertSubmission(tx: Tx, one: NewSubmission): Promise<void> {
  await tx
    .insertInto('store_submissions')
    .values({
      ...{ id: one.submissionId, developer_id: one.developerId, artifact_id: one.artifactId, module_id: one.moduleId },
      ...{ name: one.name, version: one.version, status: one.status, checksum: one.checksum },
      ...{ manifest: JSON.stringify(one.manifest), warnings: JSON.stringify(one.warnings) },
      ...{ scan: JSON.stringify(one.scan), test: JSON.stringify(one.test), review: null },
      ...{ created_at: one.createdAt, updated_at: one.createdAt },
    })
    .execute()
}

type Key = Readonly<{ id: string } | { artifactId: string }>

export async function findSubmission(db: DbOrTx, key: Key): Promise<SubmissionRecord | undefined> {
  const query = db.selectFrom('store_submissions').selectAll()
  const found = 'id' in key ? query.where('id', '=', key.id) : query.where('artifact_id', '=', key.artifactId)
  const row = await found.executeTakeFirst()
  return row && toRecord(row)
}

type Listing = Readonly<{ of: { developerId: string } | { status: 'in_review' }; after?: PageEnd | undefined; limit: number }>

/** Submissions of a developer, or all open ones, newest first. */
export async function submissionsOf(db: DbOrTx, { of, after, limit }: Listing): Promise<SubmissionRecord[]> {
  const query = newestFirst(db.selectFrom('store_submissions').selectAll(), { after, limit })
  const some = 'status' in of ? query.where('status', '=', of.status) : query.where('developer_id', '=', of.developerId)
  return (await some.execute()).map(toRecord)
}

/** Locks a developer, so that two uploads do not pass a limit together. */
export const lockDeveloper = (tx: Tx, id: string): Promise<StoreDeveloperTable> =>
  tx.selectFrom('store_developers').selectAll().where('id', '=', id).modifyEnd(forUpdate(tx)).executeTakeFirstOrThrow()

/** Versions of a module that were ever approved. */
export async function approvedVersions(db: DbOrTx, moduleId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('store_submissions')
    .select('version')
    .where('module_id', '=', moduleId)
    .where('status', '=', 'approved')
    .execute()
  return rows.map(({ version }) => version)
}

/** Key and checksum of all packages that have an object. */
export async function packagesStored(db: DbOrTx): Promise<Readonly<{ key: string; sha256: string | null }>[]> {
  const stored = db.selectFrom('store_artifacts').select(['id', 'sha256']).where('state', '=', 'stored')
  return (await stored.execute()).map(({ id, sha256 }) => ({ key: packageKey(id), sha256 }))
}

const somePackages = 10

/** The keys of a few packages that have an object. Ids are random, so they are spread over all packages. */
export const somePackageKeys = async (db: DbOrTx): Promise<string[]> => {
  const stored = db.selectFrom('store_artifacts').select('id').where('state', '=', 'stored')
  return (await stored.orderBy('id').limit(somePackages).execute()).map(({ id }) => packageKey(id))
}
