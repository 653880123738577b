import { isoNow, problem } from '../../../core/kit/index.ts'
import type { ModuleManifest } from '../../../core/modules/index.ts'
import type { LoadedModule } from '../../../node/module-package/index.ts'
import { isSignedRecord, type RecordSignature, signRecord } from '../../audit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import { packageKey, type StoreDeps } from './deps.ts'
import { moduleIn } from './examine-package.ts'
import type { SubmissionRecord } from './store.repo.ts'
import type { StoreVersionTable } from './store.tables.ts'
import { storedPackage } from './stored-package.ts'

/** A version of a module that a reviewer approved. */
export type ApprovedModule = Readonly<{
  moduleId: string
  version: string
  manifest: ModuleManifest
  developerId: string
  submissionId: string
  artifactId: string
  /** SHA-256 of the package, hex. */
  checksum: string
  approvedAt: string
  signature: RecordSignature
  /** Not null: this version must not run, and cannot be installed. */
  withdrawn: Readonly<{ reason: string; at: string }> | null
}>

/** Columns of a version and of its withdrawal. */
export type ApprovedRow = StoreVersionTable & Readonly<{ reason: string | null; withdrawn_at: string | null }>

export const approvedOf = (row: ApprovedRow): ApprovedModule => ({
  ...{ moduleId: row.module_id, version: row.version, manifest: JSON.parse(row.manifest) as ModuleManifest },
  ...{ developerId: row.developer_id, submissionId: row.submission_id, artifactId: row.artifact_id },
  ...{ checksum: row.checksum, approvedAt: row.approved_at, signature: { keyId: row.key_id, signature: row.signature } },
  withdrawn: row.reason === null ? null : { reason: row.reason, at: row.withdrawn_at ?? '' },
})

const versionsIn = (db: DbOrTx) =>
  db
    .selectFrom('store_versions as version')
    .leftJoin('module_withdrawals as withdrawal', (join) =>
      join.onRef('withdrawal.module_id', '=', 'version.module_id').onRef('withdrawal.version', '=', 'version.version'),
    )

/**
 * The newest version of each module that is not withdrawn: what the catalogue shows and a tenant installs. The deletion of a tenant deletes the
 * modules of its developers, so none of them can be installed any more.
 */
export const listedIn = (db: DbOrTx) =>
  versionsIn(db)
    .where('withdrawal.module_id', 'is', null)
    .where('version.developer_id', 'not in', ({ selectFrom }) =>
      selectFrom('store_developers as developer')
        .innerJoin('tenants as tenant', 'tenant.id', 'developer.tenant_id')
        .where('tenant.status', '=', 'deleting')
        .select('developer.id'),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('store_versions as newer')
            .leftJoin('module_withdrawals as gone', (join) =>
              join.onRef('gone.module_id', '=', 'newer.module_id').onRef('gone.version', '=', 'newer.version'),
            )
            .select('newer.version')
            .whereRef('newer.module_id', '=', 'version.module_id')
            .whereRef('newer.ordinal', '>', 'version.ordinal')
            .where('gone.module_id', 'is', null),
        ),
      ),
    )

/** The named version, withdrawn or not; without `version` the newest that is not withdrawn. Undefined: there is none. */
export async function approvedModule(db: DbOrTx, moduleId: string, version?: string): Promise<ApprovedModule | undefined> {
  const found = version === undefined ? listedIn(db) : versionsIn(db).where('version.version', '=', version)
  const row = await found.where('version.module_id', '=', moduleId).selectAll('version').select(withdrawalColumns).executeTakeFirst()
  return row && approvedOf(row)
}

/** The newest version of each module that is not withdrawn, by id. */
export async function approvedModules(db: DbOrTx): Promise<ApprovedModule[]> {
  const rows = await listedIn(db).selectAll('version').select(withdrawalColumns).orderBy('version.module_id').execute()
  return rows.map(approvedOf)
}

/** The newest version of every module, withdrawn or not, by id. */
export async function newestVersions(db: DbOrTx): Promise<ApprovedModule[]> {
  const newest = versionsIn(db).innerJoin('store_modules as module', (join) =>
    join.onRef('module.id', '=', 'version.module_id').onRef('module.version', '=', 'version.version'),
  )
  const rows = await newest.selectAll('version').select(withdrawalColumns).orderBy('version.module_id').execute()
  return rows.map(approvedOf)
}

/** All approved versions of a module, oldest first. */
export async function approvedVersionsOf(db: DbOrTx, moduleId: string): Promise<ApprovedModule[]> {
  const own = versionsIn(db).where('version.module_id', '=', moduleId).orderBy('version.ordinal')
  return (await own.selectAll('version').select(withdrawalColumns).execute()).map(approvedOf)
}

export const withdrawalColumns = ['withdrawal.reason', 'withdrawal.withdrawn_at'] as const

/** The record that the signature of an approval covers. */
const recordOf = ({ moduleId, version, manifest, developerId, submissionId, artifactId, checksum, approvedAt }: Unsigned) => ({
  kind: 'store.module-approval',
  ...{ moduleId, version, manifest, developerId, submissionId, artifactId, checksum, approvedAt },
})
type Unsigned = Omit<ApprovedModule, 'signature' | 'withdrawn'>

/** Publishes the version of a submission in the transaction of its approval. */
export async function publishVersion(tx: Tx, { clock, dataDir }: Pick<StoreDeps, 'clock' | 'dataDir'>, one: SubmissionRecord) {
  const { moduleId, version, manifest, developerId, submissionId, artifactId, checksum } = one
  const approvedAt = isoNow(clock)
  const approval = { moduleId, version, manifest, developerId, submissionId, artifactId, checksum, approvedAt }
  const { keyId, signature } = await signRecord(dataDir, recordOf(approval))
  const { count } = await tx
    .selectFrom('store_versions')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('module_id', '=', moduleId)
    .executeTakeFirstOrThrow()
  await tx
    .insertInto('store_versions')
    .values({
      ...{ module_id: moduleId, version, developer_id: developerId, submission_id: submissionId, artifact_id: artifactId, checksum },
      ...{ manifest: JSON.stringify(manifest), category: manifest.category, search: `${moduleId}\n${manifest.name}`.toLowerCase() },
      ...{ approved_at: approvedAt, key_id: keyId, signature, ordinal: Number(count) + 1 },
    })
    .execute()
}

type LoadDeps = Pick<StoreDeps, 'objects' | 'dataDir'>

/** The bytes of an approved package. Throws PACKAGE_UNVERIFIED unless signature and SHA-256 match, OBJECT_STORE_UNAVAILABLE. */
export async function loadApprovedPackage({ objects, dataDir }: LoadDeps, approved: ApprovedModule): Promise<Buffer> {
  const { moduleId, version, checksum, artifactId, signature } = approved
  if (!(await isSignedRecord(dataDir, recordOf(approved), signature)))
    throw problem(
      'PACKAGE_UNVERIFIED',
      `The approval of ${moduleId} ${version} is not signed by a trusted audit key (signed by ${signature.keyId}). fix: add the public key of that replica to audit-trusted.pub in the data folder, or withdraw the version`,
    )
  const stored = await storedPackage({ objects }, artifactId)
  if (stored?.sha256 !== checksum)
    throw problem(
      'PACKAGE_UNVERIFIED',
      `The stored package of ${moduleId} ${version} is missing or changed. fix: restore ${packageKey(artifactId)} of the object store from a backup`,
    )
  return stored.bytes
}

/** A type A module ready to run, from its verified package. Throws as `loadApprovedPackage`. */
export const loadApprovedModule = async (deps: LoadDeps, approved: ApprovedModule): Promise<LoadedModule> =>
  moduleIn(await loadApprovedPackage(deps, approved))
