import { type AdminActor, actorLabel, isoNow, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import { isBillable } from '../../../core/modules/index.ts'
import type { ReviewAction } from '../../../core/store/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { enqueueJob, type Tx } from '../../db/index.ts'
import { publishVersion } from './approved-modules.ts'
import { assertClaimsFree } from './check-claims.ts'
import type { StoreDeps } from './deps.ts'
import { developerOf } from './developers.ts'
import { linkTo } from './download-package.ts'
import { decisionTopic } from './mail-decision.ts'
import { findSubmission, lockDeveloper, type SubmissionRecord } from './store.repo.ts'
import { pageOfSubmissions, submissionView } from './submissions.ts'

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** A page of open submissions with their developers and a link to each package, newest first. */
export async function listReviews(deps: Pick<StoreDeps, 'db' | 'clock' | 'keyring' | 'baseUrl'>, query: Page) {
  const { page, nextCursor } = await pageOfSubmissions(deps, { status: 'in_review' }, query)
  const ids = [...new Set(page.map(({ developerId }) => developerId))]
  const rows = ids.length === 0 ? [] : await deps.db.selectFrom('store_developers').selectAll().where('id', 'in', ids).execute()
  const developers = new Map(rows.map((row) => [row.id, developerOf(row)]))
  const reviews = page.flatMap((one) => {
    const developer = developers.get(one.developerId)
    return developer ? [{ ...submissionView(one), developer, ...linkTo(deps, one) }] : []
  })
  return { reviews, nextCursor }
}

const statusAfter = { approve: 'approved', reject: 'rejected' } as const

/**
 * Approves or rejects an open submission. An approved version is the newest of its module. Throws NOT_FOUND, FORBIDDEN (an own submission),
 * INVALID_TRANSITION, CONFLICT (a price in another currency), and what has been claimed meanwhile: ALREADY_EXISTS, VERSION_EXISTS, FLAG_TAKEN.
 */
export const reviewSubmission = (
  { db, clock, dataDir, currency }: Pick<StoreDeps, 'db' | 'clock' | 'dataDir' | 'currency'>,
  actor: PlatformPrincipal | AdminActor,
  { id, action, notes }: ReviewAction & Readonly<{ id: string }>,
) =>
  db.transaction().execute(async (tx) => {
    const one = await lockOpen(tx, id)
    const developer = await lockDeveloper(tx, one.developerId)
    if (actor.kind === 'user' && developer.user_id === actor.userId)
      throw problem('FORBIDDEN', 'You cannot review your own submission. fix: ask another reviewer')
    const now = isoNow(clock)
    if (action === 'approve') await publish(tx, { clock, dataDir, currency }, one)
    const status = statusAfter[action]
    const review = { action, notes, by: actor.kind === 'user' ? actor.userId : actorLabel(actor), at: now }
    const { numUpdatedRows } = await tx
      .updateTable('store_submissions')
      .set({ status, review: JSON.stringify(review), updated_at: now })
      .where('id', '=', id)
      .where('status', '=', 'in_review')
      .executeTakeFirst()
    if (numUpdatedRows !== 1n) throw problem('INVALID_TRANSITION', `Submission ${id} was reviewed meanwhile.`)
    await enqueueJob(tx, clock, { topic: decisionTopic, payload: { submissionId: id } })
    const { moduleId, version, checksum } = one
    await recordAudit(tx, clock, {
      actor,
      action: `store.module-${status}`,
      subject: moduleId,
      data: { submissionId: id, version, checksum },
    })
    return { success: true as const, status }
  })

async function lockOpen(tx: Tx, id: string): Promise<SubmissionRecord> {
  const one = await findSubmission(tx, { id })
  if (!one) throw problem('NOT_FOUND', `Submission ${id} does not exist. fix: list the open ones with GET …/store/admin/reviews`)
  if (one.status !== 'in_review')
    throw problem('INVALID_TRANSITION', `Submission ${id} is ${one.status}; only one in review can be reviewed.`)
  return one
}

async function publish(tx: Tx, deps: Pick<StoreDeps, 'clock' | 'dataDir' | 'currency'>, one: SubmissionRecord): Promise<void> {
  const { id, developerId, manifest } = one
  assertCurrency(one, deps)
  await assertClaimsFree(tx, deps, { manifest, developerId })
  const newest = { feature_flag: manifest.featureFlag, version: manifest.version, submission_id: id, approved_at: isoNow(deps.clock) }
  await tx
    .insertInto('store_modules')
    .values({ id: manifest.id, developer_id: developerId, ...newest })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(newest))
    .execute()
  await publishVersion(tx, deps, one)
}

/** Throws CONFLICT for a price that the platform cannot bill. */
function assertCurrency({ id, manifest }: SubmissionRecord, { currency }: Pick<StoreDeps, 'currency'>): void {
  if (isBillable(manifest, currency)) return
  const [own, other] = [currency.toUpperCase(), manifest.billing?.currency]
  throw problem(
    'CONFLICT',
    `The price of submission ${id} is in ${other}, and prices of the platform are in ${own}. fix: reject it, and ask the developer for a version with billing.currency ${own}`,
  )
}
