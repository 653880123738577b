import { isoIn, isoNow, plural } from '../../core/kit/index.ts'
import { type Cron, defineCron } from '../feature/index.ts'
import { deletedRetentionMs, type FilesDeps } from './deps.ts'
import { addUsage, changeFileRow, objectFolder, objectIdOf, objectKey, type StoredObject } from './files.repo.ts'

type EraseDeps = Pick<FilesDeps, 'db' | 'clock' | 'log' | 'objects'>
type Erased = StoredObject & Readonly<{ id: string }>

/**
 * Erases a file in state `erasing`: first its object, then its row and its share of the quota. After a crash in between the row still names the
 * object.
 */
async function eraseFile({ db, objects }: Pick<EraseDeps, 'db' | 'objects'>, erased: Erased): Promise<void> {
  const { id, tenantId } = erased
  await objects.remove(objectKey(erased))
  await db.transaction().execute(async (tx) => {
    const row = await tx.deleteFrom('files').where('id', '=', id).where('state', '=', 'erasing').returning('bytes').executeTakeFirst()
    if (row) await addUsage(tx, tenantId, -row.bytes)
  })
}

/** Erases a failed upload. Never throws: `file-cleanup` retries what fails. */
export async function discardUpload(deps: EraseDeps, erased: Erased): Promise<void> {
  const { db, clock } = deps
  const { id } = erased
  await orLeaveForCleanup(deps, id, async () => {
    const change = { state: 'erasing', erase_at: isoNow(clock) } as const
    if (await changeFileRow(db, { id, from: 'uploading' }, change)) return eraseFile(deps, erased)
    // `file-cleanup` deleted the row before the object was written, so only this call knows the object.
    const kept = db.selectFrom('files').select('id').where('id', '=', id).where('state', 'in', ['ready', 'deleted'])
    if ((await kept.executeTakeFirst()) === undefined) await deps.objects.remove(objectKey(erased))
  })
}

/** Erases a marked file at once; `file-cleanup` retries what fails. */
export const eraseNow = (deps: EraseDeps, erased: Erased): Promise<void> =>
  orLeaveForCleanup(deps, erased.id, () => eraseFile(deps, erased))

async function orLeaveForCleanup({ log }: EraseDeps, fileId: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (err) {
    log.warn({ err, fileId }, 'a file could not be erased: the next file-cleanup retries')
  }
}

type FormFile = Readonly<{ id: string; uploaded: Readonly<{ by: string; since?: string | undefined }> }>

/**
 * Erases files of forms for good, such as signatures of an erased user. A form can name any file of its space: those that are gone, of another
 * tenant, or not `uploaded` so are left out.
 */
export async function eraseFilesOf(deps: EraseDeps, tenantId: string, files: readonly FormFile[]): Promise<void> {
  const at = isoNow(deps.clock)
  const gone = { state: 'erasing', erase_at: at, deleted_at: at, updated_at: at } as const
  for (const { id, uploaded } of files) {
    const ofUser = deps.db.updateTable('files').set(gone).where('tenant_id', '=', tenantId).where('created_by', '=', uploaded.by)
    const marked = ofUser.where('id', '=', id).where('created_at', '>=', uploaded.since ?? '')
    const row = await marked.where('state', 'in', ['ready', 'deleted']).returning(objectIdOf).executeTakeFirst()
    if (row) await eraseNow(deps, { id, tenantId, ...row })
  }
}

/**
 * Erases all files of a tenant for good, unfinished uploads too, and objects that no row names: those stored after the backup from which the
 * database was restored. It can be interrupted and repeated.
 */
export async function eraseTenantFiles(deps: EraseDeps, tenantId: string, signal?: AbortSignal): Promise<void> {
  const at = isoNow(deps.clock)
  await deps.db.updateTable('files').set({ state: 'erasing', erase_at: at }).where('tenant_id', '=', tenantId).execute()
  for (;;) {
    const page = await deps.db.selectFrom('files').select(['id', objectIdOf]).where('tenant_id', '=', tenantId).limit(pageSize).execute()
    if (page.length === 0) break
    for (const file of page) {
      signal?.throwIfAborted()
      await eraseFile(deps, { ...file, tenantId })
    }
  }
  await deps.objects.removeBelow(objectFolder(tenantId))
}

type Due = Erased & Readonly<{ eraseAt: string }>

const pageSize = 200

export const filesJobs = (deps: EraseDeps): Cron[] => [
  defineCron({
    key: 'file-cleanup',
    expression: '30 3 * * *',
    description: 'Erase files 30 days after they or their space were deleted, and uploads that were not finished within 24 hours',
    run: ({ signal }) => cleanUpFiles(deps, signal),
  }),
]

/** Erases all due files, oldest first. The next run retries what the object store refuses. */
export async function cleanUpFiles(deps: EraseDeps, signal?: AbortSignal): Promise<string> {
  const now = isoNow(deps.clock)
  await markFilesOfDeletedSpaces(deps, now)
  const tally = { erased: 0, failed: 0 }
  let page: Due[] = []
  do {
    page = await dueAfter(deps, now, page.at(-1))
    for (const due of page) {
      if (signal?.aborted) break
      await eraseDue(deps, due, tally)
    }
  } while (page.length === pageSize && !signal?.aborted)
  return `erased ${plural(tally.erased, 'file')}${tally.failed === 0 ? '' : `; ${plural(tally.failed, 'file')} could not be erased`}`
}

/** Also finds uploads that finished after their space was deleted. */
async function markFilesOfDeletedSpaces({ db, clock }: EraseDeps, now: string): Promise<void> {
  const gone = db.selectFrom('spaces').select('id').where('deleted_at', '<=', isoIn(clock, -deletedRetentionMs))
  await db
    .updateTable('files')
    .set({ erase_at: now })
    .where('space_id', 'in', gone)
    .where((eb) => eb.or([eb('erase_at', 'is', null), eb('erase_at', '>', now)]))
    .execute()
}

async function dueAfter({ db }: EraseDeps, now: string, after: Due | undefined): Promise<Due[]> {
  let query = db
    .selectFrom('files')
    .select(['id', 'tenant_id as tenantId', 'erase_at as eraseAt', objectIdOf])
    .where('erase_at', '<=', now)
    .orderBy('erase_at')
    .orderBy('id')
    .limit(pageSize)
  if (after) query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('erase_at', 'id'), '>', tuple(after.eraseAt, after.id)))
  return (await query.execute()).map((row) => ({ ...row, eraseAt: row.eraseAt ?? '' }))
}

async function eraseDue(deps: EraseDeps, due: Due, tally: { erased: number; failed: number }): Promise<void> {
  try {
    if (!(await claim(deps, due))) return
    await eraseFile(deps, due)
    tally.erased += 1
  } catch (err) {
    tally.failed += 1
    deps.log.warn({ err, fileId: due.id }, 'a file could not be erased')
  }
}

/** Marks the file so that it can neither be restored nor finish its upload. Returns false if that just happened. */
async function claim({ db }: EraseDeps, { id, eraseAt }: Due): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('files')
    .set({ state: 'erasing' })
    .where('id', '=', id)
    .where('erase_at', '=', eraseAt)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
