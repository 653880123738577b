import type { Selectable } from 'kysely'
import { isoIn, isoNow, pictureOf, plural, problem, randomText, sha256Hex, type VendorActor } from '../../core/kit/index.ts'
import { maxScreenshots, type Screenshot, screenshotSides } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { bytesOf, type FileBody, type Upload } from '../http/index.ts'
import { wholeContent } from '../objects/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { countScreenshotChange } from './intake.ts'
import type { ScreenshotTable } from './marketplace.tables.ts'
import { findScreenshot, findShownScreenshot, screenshotKey, toScreenshot } from './screenshots.repo.ts'
import { findSubmission, replaceSubmission, type SubmissionRecord } from './submissions.repo.ts'
import { assertConfirmed, lockOwnSubmission, ownSubmission } from './vendor-account.ts'

type Row = Selectable<ScreenshotTable>
type Added = Readonly<{ id: string; upload: Upload }>

/**
 * Adds a picture to a submission that is not reviewed yet. Its bytes are checked before they are stored. Throws NOT_FOUND, CONFLICT (not confirmed, or
 * too many), INVALID_TRANSITION, RATE_LIMITED, VALIDATION (no picture), PAYLOAD_TOO_LARGE, OBJECT_STORE_UNAVAILABLE.
 */
export async function addScreenshot(deps: MarketplaceDeps, actor: VendorActor, { id: submissionId, upload }: Added): Promise<Screenshot> {
  const { db, clock, random, objects } = deps
  assertChangeable(await ownSubmission(db, actor, submissionId))
  await db.transaction().execute((tx) => countScreenshotChange(deps, tx, { id: submissionId }))
  const { contentType, width, height, content } = pictureOf(await bytesOf(upload), { part: 'screenshot', ...screenshotSides })
  // 26 characters of 5 bits: the id is the only key to the picture of an approved item.
  const row: Row = {
    ...{ id: `mss_${randomText(random, 26)}`, submission_id: submissionId, state: 'uploading', content_type: contentType },
    ...{ bytes: content.length, width, height, sha256: sha256Hex(content), created_at: isoNow(clock) },
  }
  await db.transaction().execute(async (tx) => {
    assertChangeable(await lockOwnSubmission(tx, actor, submissionId))
    await assertFew(deps, tx, row)
    await tx.insertInto('marketplace_screenshots').values(row).execute()
  })
  await objects.put(screenshotKey(row.id), wholeContent(content))
  await db.transaction().execute(async (tx) => {
    const locked = await lockOwnSubmission(tx, actor, submissionId)
    assertChangeable(locked)
    await assertFew(deps, tx, row)
    await tx.updateTable('marketplace_screenshots').set({ state: 'stored' }).where('id', '=', row.id).execute()
    await storeChange(deps, tx, { actor, locked, action: 'marketplace.screenshot-added', screenshotId: row.id })
  })
  return toScreenshot(row)
}

/** Throws CONFLICT, INVALID_TRANSITION. */
function assertChangeable(one: SubmissionRecord): void {
  assertConfirmed(one)
  if (one.status === 'pending' || one.status === 'needs-changes') return
  throw problem('INVALID_TRANSITION', `Submission ${one.id} is ${one.status}; its screenshots stay. fix: submit a new version`)
}

/** An upload counts so long while it is not finished; one that takes longer is counted again at its end. */
const uploadMs = 5 * 60_000

/** Counts the other screenshots of a submission. Throws CONFLICT. */
async function assertFew({ clock }: Pick<MarketplaceDeps, 'clock'>, tx: Tx, { id, submission_id: submissionId }: Row): Promise<void> {
  const { count } = await tx
    .selectFrom('marketplace_screenshots')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('submission_id', '=', submissionId)
    .where('id', '<>', id)
    .where(({ eb, or }) => or([eb('state', '=', 'stored'), eb('created_at', '>', isoIn(clock, -uploadMs))]))
    .executeTakeFirstOrThrow()
  if (Number(count) < maxScreenshots) return
  throw problem('CONFLICT', `Submission ${submissionId} has ${maxScreenshots} screenshots. fix: delete one first`)
}

type Change = Readonly<{ actor: VendorActor; locked: SubmissionRecord; action: string; screenshotId: string }>

/** A reviewer who has read the submission without the change cannot approve it: it gets a new round. Its reminder stays. Call it last. */
async function storeChange(deps: MarketplaceDeps, tx: Tx, { actor, locked, action, screenshotId }: Change): Promise<void> {
  const { id: submissionId } = locked
  // The mail that asked for changes names the round; the answer to it raises it.
  const round = locked.status === 'pending' ? locked.round + 1 : locked.round
  await replaceSubmission(tx, { ...locked, round, updatedAt: isoNow(deps.clock) })
  await recordAudit(tx, deps.clock, { actor, action, subject: submissionId, data: { submissionId, screenshotId } })
}

type Deleted = Readonly<{ id: string; screenshotId: string }>

/** Throws NOT_FOUND, CONFLICT, INVALID_TRANSITION, RATE_LIMITED. */
export async function deleteScreenshot(deps: MarketplaceDeps, actor: VendorActor, { id, screenshotId }: Deleted): Promise<undefined> {
  const { db, objects } = deps
  await db.transaction().execute(async (tx) => {
    const locked = await lockOwnSubmission(tx, actor, id)
    assertChangeable(locked)
    await countScreenshotChange(deps, tx, { id })
    const row = await findScreenshot(tx, screenshotId)
    if (row?.submission_id !== id) throw noSuchScreenshot(screenshotId)
    // Housekeeping deletes the bytes if this process cannot.
    await tx.updateTable('marketplace_screenshots').set({ state: 'uploading' }).where('id', '=', screenshotId).execute()
    await storeChange(deps, tx, { actor, locked, action: 'marketplace.screenshot-deleted', screenshotId })
  })
  await objects.remove(screenshotKey(screenshotId))
  await db.deleteFrom('marketplace_screenshots').where('id', '=', screenshotId).execute()
  return undefined
}

const noSuchScreenshot = (id: string) => problem('NOT_FOUND', `Screenshot ${id} does not exist`)

type One = Readonly<{ id: string }>
type Reading = Pick<MarketplaceDeps, 'db' | 'objects'>

/** A screenshot of a submission of the address. Throws NOT_FOUND. */
export async function readOwnScreenshot(deps: Reading, { email }: VendorActor, { id }: One): Promise<FileBody> {
  const row = await findScreenshot(deps.db, id)
  const submission = row && (await findSubmission(deps.db, row.submission_id))
  if (!row || submission?.vendorEmail.toLowerCase() !== email) throw noSuchScreenshot(id)
  return bodyOf(deps, row)
}

/** A screenshot for a reviewer. Throws NOT_FOUND. */
export async function readReviewScreenshot(deps: Reading, { id }: One): Promise<FileBody> {
  const row = await findScreenshot(deps.db, id)
  if (!row) throw noSuchScreenshot(id)
  return bodyOf(deps, row)
}

/** Browsers show a screenshot of an item that was archived for so long. */
const cacheSeconds = 86_400

/** A screenshot that its item shows, which a reviewer has approved: it is public, and may be an image in other pages. Throws NOT_FOUND. */
export async function readScreenshot(deps: Reading, { id }: One): Promise<FileBody> {
  const row = await findShownScreenshot(deps.db, id)
  if (!row) throw noSuchScreenshot(id)
  return { ...bodyOf(deps, row), cacheSeconds }
}

const bodyOf = ({ objects }: Pick<MarketplaceDeps, 'objects'>, row: Row): FileBody => ({
  ...{ fileName: `${row.id}.${row.content_type.replace('image/', '')}`, contentType: row.content_type, inline: true },
  ...{ bytes: row.bytes, etag: `"${row.sha256.slice(0, 32)}"` },
  async open(range) {
    const content = await objects.get(screenshotKey(row.id), range)
    if (content) return content
    throw problem('NOT_FOUND', `The content of ${row.id} is missing in the object store. fix: ask the operator to restore it from a backup`)
  },
})

const unfinishedMs = 60 * 60_000
const batch = 100

/** Deletes screenshots that were not finished, and those of submissions that were deleted. */
export async function deleteOldScreenshots({ db, clock, objects }: Reading & Pick<MarketplaceDeps, 'clock'>, signal: AbortSignal) {
  let deleted = 0
  for (;;) {
    const rows = await db
      .selectFrom('marketplace_screenshots as s')
      .select('s.id')
      .where(({ eb, or, and, not, exists, selectFrom }) =>
        or([
          and([eb('s.state', '<>', 'stored'), eb('s.created_at', '<', isoIn(clock, -unfinishedMs))]),
          not(exists(selectFrom('marketplace_submissions as m').select('m.id').whereRef('m.id', '=', 's.submission_id'))),
        ]),
      )
      .limit(batch)
      .execute()
    for (const { id } of rows) {
      signal.throwIfAborted()
      await objects.remove(screenshotKey(id))
      await db.deleteFrom('marketplace_screenshots').where('id', '=', id).execute()
    }
    deleted += rows.length
    if (rows.length < batch) return plural(deleted, 'old screenshot')
  }
}
