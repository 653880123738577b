import { isoNow } from '../../core/kit/index.ts'
import type { FilesDeps } from './deps.ts'
import { changeFileRow, objectKey } from './files.repo.ts'
import { addUsage } from './usage.repo.ts'

type Deps = Pick<FilesDeps, 'db' | 'clock' | 'log' | 'objects'>
type Erased = Readonly<{ id: string; tenantId: string }>

/**
 * Takes a file away that is in the state `erasing`: first its object, then its row with what it took of the quota, so that a kill in between
 * leaves a row by which it is found again.
 */
export async function eraseFile({ db, objects }: Pick<Deps, 'db' | 'objects'>, { id, tenantId }: Erased): Promise<void> {
  await objects.remove(objectKey({ id, tenantId }))
  await db.transaction().execute(async (tx) => {
    const row = await tx.deleteFrom('files').where('id', '=', id).where('state', '=', 'erasing').returning('bytes').executeTakeFirst()
    if (row) await addUsage(tx, tenantId, -row.bytes)
  })
}

/** Takes an upload away that failed. Never throws: what it cannot do now `file-cleanup` does. */
export async function clearUpload(deps: Deps, { id, tenantId }: Erased): Promise<void> {
  const { db, clock } = deps
  await soon(deps, id, async () => {
    const given = { state: 'erasing', erase_at: isoNow(clock) } as const
    if (await changeFileRow(db, { id, from: 'uploading' }, given)) return eraseFile(deps, { id, tenantId })
    // It took so long that `file-cleanup` was here before its bytes were: nobody else would find these.
    const kept = db.selectFrom('files').select('id').where('id', '=', id).where('state', 'in', ['ready', 'deleted'])
    if ((await kept.executeTakeFirst()) === undefined) await deps.objects.remove(objectKey({ id, tenantId }))
  })
}

/** Takes a file away at once that is marked for it; what fails is left for `file-cleanup`. */
export const eraseSoon = (deps: Deps, erased: Erased): Promise<void> => soon(deps, erased.id, () => eraseFile(deps, erased))

async function soon({ log }: Deps, fileId: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (err) {
    log.warn({ err, fileId }, 'a file is taken away later')
  }
}
