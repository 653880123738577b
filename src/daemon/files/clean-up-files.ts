import { isoIn, isoNow, plural } from '../../core/kit/index.ts'
import { type Cron, defineCron } from '../feature/index.ts'
import { type FilesDeps, keptDeletedMs } from './deps.ts'
import { eraseFile } from './erase-file.ts'

type Deps = Pick<FilesDeps, 'db' | 'clock' | 'log' | 'objects'>
type Due = Readonly<{ id: string; tenantId: string; eraseAt: string }>

const pageSize = 200

export const filesJobs = (deps: Deps): Cron[] => [
  defineCron({
    key: 'file-cleanup',
    expression: '30 3 * * *',
    description: 'Erases files 30 days after they or their space were deleted, and uploads that were not finished within 24 hours',
    run: ({ signal }) => cleanUpFiles(deps, signal),
  }),
]

/** Goes through all that is due, the oldest first; what the store does not let go of is tried again the next night. */
export async function cleanUpFiles(deps: Deps, signal?: AbortSignal): Promise<string> {
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
  return `erased ${plural(tally.erased, 'file')}${tally.failed === 0 ? '' : `; ${plural(tally.failed, 'file')} could not be taken away`}`
}

/** Nobody reaches these since their space is gone; they are found here, so that no upload slips through that ended in between. */
async function markFilesOfDeletedSpaces({ db, clock }: Deps, now: string): Promise<void> {
  const gone = db.selectFrom('spaces').select('id').where('deleted_at', '<=', isoIn(clock, -keptDeletedMs))
  await db
    .updateTable('files')
    .set({ erase_at: now })
    .where('space_id', 'in', gone)
    .where((eb) => eb.or([eb('erase_at', 'is', null), eb('erase_at', '>', now)]))
    .execute()
}

async function dueAfter({ db }: Deps, now: string, after: Due | undefined): Promise<Due[]> {
  let query = db
    .selectFrom('files')
    .select(['id', 'tenant_id', 'erase_at'])
    .where('erase_at', '<=', now)
    .orderBy('erase_at')
    .orderBy('id')
    .limit(pageSize)
  if (after) query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('erase_at', 'id'), '>', tuple(after.eraseAt, after.id)))
  return (await query.execute()).map(({ id, tenant_id, erase_at }) => ({ id, tenantId: tenant_id, eraseAt: erase_at ?? '' }))
}

async function eraseDue(deps: Deps, due: Due, tally: { erased: number; failed: number }): Promise<void> {
  try {
    if (!(await claim(deps, due))) return
    await eraseFile(deps, due)
    tally.erased += 1
  } catch (err) {
    tally.failed += 1
    deps.log.warn({ err, fileId: due.id }, 'a file could not be taken away')
  }
}

/** From here on nobody restores it, and no upload ends in it. False: it was restored, or settled, a moment ago. */
async function claim({ db }: Deps, { id, eraseAt }: Due): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('files')
    .set({ state: 'erasing' })
    .where('id', '=', id)
    .where('erase_at', '=', eraseAt)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
