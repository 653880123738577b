import { type DeveloperActor, isoIn, isoNow, isProblem, newId, problem } from '../../../core/kit/index.ts'
import { isBillable } from '../../../core/modules/index.ts'
import { manifestWarnings, storeLimits } from '../../../core/store/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Upload } from '../../http/index.ts'
import type { Kept } from '../../objects/index.ts'
import { assertClaimsFree, similarIds } from './check-claims.ts'
import { packageKey, type StoreDeps } from './deps.ts'
import type { Examined, packageExaminer } from './examine-package.ts'
import { insertSubmission, lockDeveloper } from './store.repo.ts'
import { storedPackage } from './stored-package.ts'

type Sent = Readonly<{ upload: Upload<{ manifest: string }>; signal: AbortSignal }>
type UploadDeps = StoreDeps & Readonly<{ examiner: ReturnType<typeof packageExaminer> }>

const dayMs = 86_400_000

/**
 * Stores a package, scans and tests exactly the stored bytes, and submits it for review. Throws RATE_LIMITED, QUOTA_EXCEEDED, UNAVAILABLE (another
 * scan), what is wrong with the package, and the problems of the form; then nothing of it stays.
 */
export async function uploadPackage(deps: UploadDeps, actor: DeveloperActor, { upload, signal }: Sent) {
  const artifactId = await reserve(deps, actor, upload.bytes.most)
  try {
    const { fields, taken } = await upload.receive(({ content }) => deps.objects.put(packageKey(artifactId), content))
    const read = async () => (await storedPackage(deps, artifactId))?.bytes ?? Buffer.alloc(0)
    const examined = await deps.examiner.examine({ read, checksum: taken.sha256, manifest: fields.manifest, signal })
    assertCurrency(examined, deps)
    return await submit(deps, actor, { artifactId, stored: taken, examined })
  } catch (error) {
    await discard(deps, artifactId, error)
    throw error
  }
}

/** Reserves the largest size that the upload can have, until its real size is known. */
const reserve = ({ db, clock, random }: StoreDeps, { developerId }: DeveloperActor, bytes: number): Promise<string> =>
  db.transaction().execute(async (tx) => {
    await lockDeveloper(tx, developerId)
    const own = tx.selectFrom('store_artifacts').where('developer_id', '=', developerId)
    const today = await own
      .select(({ fn }) => fn.countAll().as('count'))
      .where('created_at', '>', isoIn(clock, -dayMs))
      .executeTakeFirstOrThrow()
    if (Number(today.count) >= storeLimits.uploadsADay)
      throw problem('RATE_LIMITED', `You uploaded ${storeLimits.uploadsADay} packages in 24 hours. fix: try again tomorrow`, {
        retryAfterSeconds: 3600,
      })
    const { used } = await own.select(({ fn }) => fn.sum('bytes').as('used')).executeTakeFirstOrThrow()
    if (Number(used) + bytes > storeLimits.bytes)
      throw problem('QUOTA_EXCEEDED', 'Your packages have 500 MB. Rejected and replaced ones are deleted after 90 days.')
    const id = newId(random, 'art')
    const row = { id, developer_id: developerId, state: 'uploading', bytes, sha256: null, created_at: isoNow(clock) } as const
    await tx.insertInto('store_artifacts').values(row).execute()
    return id
  })

/** Throws MODULE_INVALID for a price that the platform cannot bill. */
function assertCurrency({ manifest }: Examined, { currency }: Pick<StoreDeps, 'currency'>): void {
  if (isBillable(manifest, currency)) return
  const reason = `must be ${currency.toUpperCase()}, the currency of this platform`
  throw problem('MODULE_INVALID', `billing.currency ${reason}.`, { details: [{ path: 'billing.currency', reason }] })
}

type Stored = Readonly<{ artifactId: string; stored: Kept; examined: Examined }>

const submit = ({ db, clock, random }: StoreDeps, actor: DeveloperActor, { artifactId, stored, examined }: Stored) =>
  db.transaction().execute(async (tx) => {
    const { developerId } = actor
    const { manifest, scan, test } = examined
    const { id: moduleId, name, version } = manifest
    const now = isoNow(clock)
    await lockDeveloper(tx, developerId)
    await assertClaimsFree(tx, { clock }, { manifest, developerId })
    await replaceOpen(tx, { developerId, moduleId, now })
    await assertFewOpen(tx, developerId)
    const { numUpdatedRows } = await tx
      .updateTable('store_artifacts')
      .set({ state: 'stored', bytes: stored.bytes, sha256: stored.sha256 })
      .where('id', '=', artifactId)
      .where('state', '=', 'uploading')
      .executeTakeFirst()
    if (numUpdatedRows !== 1n) throw problem('CONFLICT', 'The upload took too long and was cancelled. fix: upload the package again')
    const submissionId = newId(random, 'sub')
    const checksum = stored.sha256
    const warnings = [...(await similarIds(tx, moduleId, developerId)), ...manifestWarnings(manifest)]
    const made = { submissionId, moduleId, name, version, status: 'in_review' as const, checksum, createdAt: now }
    await insertSubmission(tx, { ...made, developerId, artifactId, manifest, warnings, scan, test })
    const data = { submissionId, moduleId, version, checksum }
    await recordAudit(tx, clock, { actor, action: 'store.module-submitted', subject: actor.tenantSlug, data })
    return { artifactPath: artifactId, checksum, submissionId }
  })

type Open = Readonly<{ developerId: string; moduleId: string; now: string }>

const replaceOpen = (tx: Tx, { developerId, moduleId, now }: Open) =>
  tx
    .updateTable('store_submissions')
    .set({ status: 'replaced', updated_at: now })
    .where('module_id', '=', moduleId)
    .where('developer_id', '=', developerId)
    .where('status', '=', 'in_review')
    .execute()

async function assertFewOpen(tx: Tx, developerId: string): Promise<void> {
  const { count } = await tx
    .selectFrom('store_submissions')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('developer_id', '=', developerId)
    .where('status', '=', 'in_review')
    .executeTakeFirstOrThrow()
  if (Number(count) >= storeLimits.openSubmissions)
    throw problem('CONFLICT', `${storeLimits.openSubmissions} of your submissions await a review. fix: wait until one is reviewed`)
}

/** Deletes the object of a failed upload. A refused package counts among the uploads of its day; `housekeeping` retries what fails here. */
async function discard({ db, objects, log }: StoreDeps, artifactId: string, reason: unknown): Promise<void> {
  const isRefused = isProblem(reason) && reason.status < 500
  try {
    const row = db.selectFrom('store_artifacts').select('state').where('id', '=', artifactId)
    if ((await row.executeTakeFirst())?.state === 'stored') return // the commit succeeded, and only its answer was lost
    await objects.remove(packageKey(artifactId))
    const own = { id: artifactId, state: 'uploading' } as const
    if (isRefused)
      await db
        .updateTable('store_artifacts')
        .set({ state: 'discarded', bytes: 0 })
        .where('id', '=', own.id)
        .where('state', '=', own.state)
        .execute()
    else await db.deleteFrom('store_artifacts').where('id', '=', own.id).where('state', '=', own.state).execute()
  } catch (err) {
    log.warn({ err, artifactId }, 'a refused package could not be deleted: housekeeping retries')
  }
}
