import { isoNow, problem, randomText, type VendorActor } from '../../core/kit/index.ts'
import { assertCharged, type SubmissionContent, type VendorSubmissionDetail } from '../../core/marketplace/index.ts'
import { isNewer } from '../../core/modules/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { countAnswer, countSubmission } from './intake.ts'
import type { ItemRecord } from './items.repo.ts'
import { expectReview } from './review-due.ts'
import { assertSameModule } from './review-submission.ts'
import { insertSubmission, type SubmissionWithBundle, versionsOf } from './submissions.repo.ts'
import { assertSameType, checkBundle, contentOf, storeRevision } from './submit-item.ts'
import { assertConfirmed, lockOwnItem, lockOwnSubmission, ownItem, ownSubmission, vendorSubmissionView } from './vendor-account.ts'
import { findVendor } from './vendors.repo.ts'

type Sent = Readonly<{ id: string; body: SubmissionContent; address: string }>

/**
 * Submits the next version of an item for review; name and price of the item stay. Throws NOT_FOUND, CONFLICT (withdrawn, another version waits, or
 * another module), VERSION_EXISTS, VALIDATION, RATE_LIMITED.
 */
export async function submitVersion(
  deps: MarketplaceDeps,
  actor: VendorActor,
  { id, body, address }: Sent,
): Promise<VendorSubmissionDetail> {
  const found = await ownItem(deps.db, actor, id)
  await deps.db.transaction().execute((tx) => countSubmission(deps, tx, { address }))
  assertNextVersion(found, body)
  const warnings = await checkBundle(deps, body)
  return deps.db.transaction().execute(async (tx) => {
    const item = await lockOwnItem(tx, actor, id)
    assertNextVersion(item, body)
    await assertNoneWaits(tx, id)
    const vendor = await findVendor(tx, { id: item.vendorId as string })
    if (!vendor) throw new Error(`item ${id} names the vendor ${item.vendorId}, which does not exist`)
    const now = isoNow(deps.clock)
    const sender = { vendorName: vendor.name, vendorEmail: vendor.contactEmail, vendorCountry: vendor.country }
    const { priceModel, priceCents, currency, name } = item
    const one: SubmissionWithBundle = {
      ...{ id: `sbm_${randomText(deps.random, 26)}`, ...contentOf({ ...body, ...sender }, deps.payments.currency) },
      ...{ name, priceModel, priceCents, currency, warnings, status: 'pending', round: 1, itemId: id, vendorId: null, provenAt: now },
      ...{ reviewNotes: null, reviewedAt: null, reviewedBy: null, approvedItemId: null, createdAt: now, updatedAt: now },
    }
    await insertSubmission(tx, one)
    await expectReview(deps, tx, one)
    const data = { submissionId: one.id, itemId: id, version: body.version, vendorId: vendor.id }
    await recordAudit(tx, deps.clock, { actor, action: 'marketplace.version-submitted', subject: item.slug, data })
    return vendorSubmissionView(tx, one)
  })
}

/** Throws CONFLICT, VERSION_EXISTS, VALIDATION. */
function assertNextVersion(item: ItemRecord, body: SubmissionContent): void {
  if (item.withdrawnAt !== null)
    throw problem('CONFLICT', `${item.name} is withdrawn, so it gets no new version. fix: ask the operator to publish it again`)
  assertSameType(item, body)
  if (!isNewer(body.version, item.version))
    throw problem('VERSION_EXISTS', `${item.name} has version ${item.version} already. fix: send a version greater than that`)
  assertSameModule(item, body)
}

/** One version waits at a time: two would be approved in any order. Throws CONFLICT. */
async function assertNoneWaits(tx: Tx, itemId: string): Promise<void> {
  const open = (await versionsOf(tx, itemId)).find(({ status }) => status === 'pending' || status === 'needs-changes')
  if (!open) return
  const fix = open.status === 'pending' ? 'wait for its review' : 'send that submission again with the changes'
  throw problem('CONFLICT', `Version ${open.version} of this item is not decided yet (${open.id}). fix: ${fix}`)
}

/**
 * Sends a submission again after a request for changes, from the account. Throws NOT_FOUND, CONFLICT, INVALID_TRANSITION, VERSION_EXISTS, VALIDATION,
 * RATE_LIMITED.
 */
export async function reviseSubmission(
  deps: MarketplaceDeps,
  actor: VendorActor,
  { id, body }: Omit<Sent, 'address'>,
): Promise<VendorSubmissionDetail> {
  const { db, clock } = deps
  const found = await ownSubmission(db, actor, id)
  assertConfirmed(found)
  assertSameType(found, body)
  if (found.itemId !== null) assertNextVersion(await ownItem(db, actor, found.itemId), body)
  await db.transaction().execute((tx) => countAnswer(deps, tx, { id }))
  if (found.itemId === null) assertCharged(body, deps.payments.currency)
  const warnings = await checkBundle(deps, body)
  return db.transaction().execute(async (tx) => {
    const locked = await lockOwnSubmission(tx, actor, id)
    const { vendorName, vendorEmail, vendorCountry, name, priceModel, priceCents, currency } = locked
    const sent = contentOf({ ...body, vendorName, vendorEmail, vendorCountry }, deps.payments.currency)
    const content = locked.itemId === null ? sent : { ...sent, name, priceModel, priceCents, currency }
    const next = await storeRevision(deps, tx, { locked, content, warnings })
    await recordAudit(tx, clock, {
      actor,
      action: 'marketplace.submission-revised',
      subject: id,
      data: { submissionId: id, round: next.round },
    })
    return vendorSubmissionView(tx, next)
  })
}
