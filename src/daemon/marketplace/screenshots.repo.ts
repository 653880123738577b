import type { Selectable } from 'kysely'
import type { Screenshot } from '../../core/marketplace/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { ScreenshotTable } from './marketplace.tables.ts'

/** The key of a picture in the object store. Contains only an id. */
export const screenshotKey = (id: string): string => `marketplace/${id}`

export const toScreenshot = ({ id, content_type, bytes, width, height }: Selectable<ScreenshotTable>): Screenshot => ({
  ...{ id, contentType: content_type, bytes, width, height },
})

/** Screenshots of a submission, in the order in which they were added. */
export async function screenshotsOf(db: DbOrTx, submissionId: string): Promise<Screenshot[]> {
  const rows = await db
    .selectFrom('marketplace_screenshots')
    .selectAll()
    .where('submission_id', '=', submissionId)
    .where('state', '=', 'stored')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toScreenshot)
}

/** A screenshot that a published item shows. */
export async function findShownScreenshot(db: DbOrTx, id: string): Promise<Selectable<ScreenshotTable> | undefined> {
  const row = await db
    .selectFrom('marketplace_screenshots as s')
    .innerJoin('marketplace_submissions as m', 'm.id', 's.submission_id')
    .innerJoin('marketplace_items as i', 'i.id', 'm.approved_item_id')
    .selectAll('s')
    .select('i.screenshots')
    .where('s.id', '=', id)
    .where('s.state', '=', 'stored')
    .where('i.status', '=', 'published')
    .executeTakeFirst()
  return row && (JSON.parse(row.screenshots) as string[]).includes(id) ? row : undefined
}

/** Key and checksum of all screenshots that have an object. */
export async function screenshotsStored(db: DbOrTx): Promise<Readonly<{ key: string; sha256: string }>[]> {
  const rows = await db.selectFrom('marketplace_screenshots').select(['id', 'sha256']).where('state', '=', 'stored').execute()
  return rows.map(({ id, sha256 }) => ({ key: screenshotKey(id), sha256 }))
}

const someScreenshots = 10

/** The keys of a few screenshots that have an object. */
export async function someScreenshotKeys(db: DbOrTx): Promise<string[]> {
  const stored = db.selectFrom('marketplace_screenshots').select('id').where('state', '=', 'stored')
  return (await stored.orderBy('id').limit(someScreenshots).execute()).map(({ id }) => screenshotKey(id))
}

export const findScreenshot = (db: DbOrTx, id: string) =>
  db.selectFrom('marketplace_screenshots').selectAll().where('id', '=', id).where('state', '=', 'stored').executeTakeFirst()
