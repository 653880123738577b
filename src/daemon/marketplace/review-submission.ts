import { type Actor, actorLabel, isoNow, newId, problem } from '../../core/kit/index.ts'
import {
  type AppBundle,
  type Approval,
  appWarnings,
  assertCharged,
  defaultFeePercent,
  freeSlug,
  type Item,
  type SubmissionAction,
  slugOf,
  submissionAfter,
  undeclaredBy,
  type Vendor,
} from '../../core/marketplace/index.ts'
import { isNewer } from '../../core/modules/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueJob, lockExclusive, type Tx, type WithTx } from '../db/index.ts'
import { announceItem } from './announce-item.ts'
import { moduleWithFlag } from './bundle.ts'
import type { MarketplaceDeps } from './deps.ts'
import { findItem, type ItemRecord, insertItem, lockItem, replaceItem, takenSlugs } from './items.repo.ts'
import { mailTopic } from './mail-vendor.ts'
import { itemView, noSuchSubmission } from './operate-marketplace.ts'
import { endReminder } from './review-due.ts'
import { screenshotsOf } from './screenshots.repo.ts'
import { bundleOf, lockSubmission, replaceSubmission, type SubmissionRecord, type SubmissionWithBundle } from './submissions.repo.ts'
import { insertVendor, lockAddress, lockVendor, vendorOfAddress } from './vendors.repo.ts'

type One = Readonly<{ id: string }>

const mailOf = { approve: 'approved', reject: 'rejected', 'request-changes': 'needs-changes' } as const

/** Throws NOT_FOUND, INVALID_TRANSITION. */
async function lockForReview(tx: Tx, { id, action }: One & Readonly<{ action: SubmissionAction }>) {
  const found = await lockSubmission(tx, id)
  if (!found) throw noSuchSubmission(id)
  return { found, status: submissionAfter(id, { from: found.status, action }) }
}

type Reviewed = Readonly<{
  actor: Actor
  action: keyof typeof mailOf
  /** As it is after the review. */
  next: SubmissionRecord
  data?: Readonly<Record<string, unknown>>
}>

/** Stores a review with its mail and its audit entry. Call it last. */
async function storeReview({ clock }: Pick<MarketplaceDeps, 'clock'>, tx: Tx, { actor, action, next, data }: Reviewed): Promise<void> {
  const now = isoNow(clock)
  await replaceSubmission(tx, { ...next, reviewedAt: now, reviewedBy: actorLabel(actor), updatedAt: now })
  const { id: submissionId, round, name, reviewNotes: notes } = next
  await enqueueJob(tx, clock, { topic: mailTopic, payload: { submissionId, kind: mailOf[action], round } })
  await endReminder({ clock }, tx, next)
  const entry = `marketplace.submission-${mailOf[action]}`
  await recordAudit(tx, clock, { actor, action: entry, subject: submissionId, data: { submissionId, name, notes, ...data } })
}

type Refusal = One & Readonly<{ reason: string }>

/** Rejects a submission for good, also one whose vendor does not answer. Throws NOT_FOUND, INVALID_TRANSITION. */
export const rejectSubmission = (deps: Pick<MarketplaceDeps, 'db' | 'clock'>, actor: Actor, { id, reason }: Refusal) =>
  deps.db.transaction().execute(async (tx) => {
    const { found, status } = await lockForReview(tx, { id, action: 'reject' })
    await storeReview(deps, tx, { actor, action: 'reject', next: { ...found, status, reviewNotes: reason } })
    return { success: true as const, status: 'rejected' as const }
  })

/** Asks the vendor to send a pending submission again. Throws NOT_FOUND, INVALID_TRANSITION. */
export const requestChanges = (deps: Pick<MarketplaceDeps, 'db' | 'clock'>, actor: Actor, { id, reason }: Refusal) =>
  deps.db.transaction().execute(async (tx) => {
    const { found, status } = await lockForReview(tx, { id, action: 'request-changes' })
    await storeReview(deps, tx, { actor, action: 'request-changes', next: { ...found, status, reviewNotes: reason } })
    return { success: true as const, status: 'needs-changes' as const }
  })

/**
 * Approves a pending submission and publishes its item, or the next version of an item. It never calls the payment provider. Throws NOT_FOUND,
 * INVALID_TRANSITION, CONFLICT (another round was read, its module declares other permissions, its price is in another currency, the next version of an app names another module, or the address is not proven or not that of the vendor), VERSION_EXISTS, VALIDATION (another vendor's item).
 */
export const approveSubmission = (deps: MarketplaceDeps, actor: Actor, { id, round, notes, ...chosen }: Approval & One) =>
  deps.db.transaction().execute(async (tx) => {
    const { found: locked, status } = await lockForReview(tx, { id, action: 'approve' })
    assertRead(locked, round)
    const found = { ...locked, bundle: await bundleOf(tx, id) }
    const warnings = await assertOfModule(tx, found)
    const itemId = chosen.itemId ?? found.itemId ?? undefined
    const vendor = await vendorFor(deps, tx, { found, vendorId: chosen.vendorId ?? (await vendorOfItem(tx, found)) ?? chosen.vendorId })
    const item =
      itemId === undefined ? await newItem({ ...deps, tx }, found, vendor) : await newVersion(deps, tx, { found, vendor, itemId })
    await announceItem(deps, tx, item.id)
    const next = { ...locked, warnings, status, reviewNotes: notes, vendorId: vendor.id, approvedItemId: item.id }
    const { slug, version, priceModel, priceCents, currency } = item
    const data = { itemId: item.id, slug, version, vendorId: vendor.id, priceModel, priceCents, currency }
    await storeReview(deps, tx, { actor, action: 'approve', next, data })
    return { success: true as const, status: 'approved' as const, item: itemView(item) satisfies Item, vendorId: vendor.id }
  })

/** A version from the account of a vendor joins the vendor of its item. */
const vendorOfItem = async (tx: Tx, { itemId }: SubmissionRecord): Promise<string | undefined> =>
  itemId === null ? undefined : ((await findItem(tx, itemId))?.vendorId ?? undefined)

/** The vendor may have sent another content after the reviewer read it. Throws CONFLICT. */
function assertRead({ id, round }: SubmissionRecord, read: number): void {
  if (round === read) return
  throw problem(
    'CONFLICT',
    `Submission ${id} is in round ${round}, and the approval names round ${read}. fix: tenantry marketplace submissions show ${id}, then approve with --round ${round}`,
  )
}

/** The module of an app may have been approved after its submission. Returns the warnings of now. Throws CONFLICT. */
async function assertOfModule(tx: Tx, found: SubmissionWithBundle) {
  if (found.itemType === 'flow') return found.warnings
  const bundle = found.bundle as AppBundle
  const module = await moduleWithFlag(tx, bundle.manifest.featureFlag)
  const [first] = undeclaredBy(bundle, module)
  if (!first) return appWarnings(bundle, module)
  throw problem(
    'CONFLICT',
    `The permissions of submission ${found.id} are not those of its module: ${first.reason}. fix: tenantry marketplace submissions request-changes ${found.id} --notes <text>`,
  )
}

type VendorChoice = Readonly<{ found: SubmissionRecord; vendorId: string | null | undefined }>

/** Approvals for one address run one after the other, so that they make one vendor. */
async function vendorFor(deps: MarketplaceDeps, tx: Tx, { found, vendorId }: VendorChoice): Promise<Vendor> {
  if (vendorId) return vendorToJoin(tx, found, vendorId)
  const email = found.vendorEmail.toLowerCase()
  await lockAddress(tx, email)
  const known = vendorId === null ? undefined : await vendorOfAddress(tx, { email, proven: found.provenAt !== null })
  const vendor = known === undefined ? undefined : await lockVendor(tx, known)
  return vendor ?? newVendor(deps, tx, found)
}

async function vendorToJoin(tx: Tx, { id, provenAt, vendorEmail }: SubmissionRecord, vendorId: string): Promise<Vendor> {
  if (provenAt === null)
    throw problem(
      'CONFLICT',
      `The mail address of submission ${id} is not confirmed, so it cannot join a vendor. fix: wait for the vendor to confirm it, or approve without a vendor`,
    )
  const vendor = await lockVendor(tx, vendorId)
  if (vendor && vendor.contactEmail.toLowerCase() !== vendorEmail.toLowerCase())
    throw problem(
      'CONFLICT',
      `The mail address of submission ${id} is not the contact address of vendor ${vendorId}. fix: ask the vendor, then tenantry marketplace vendors update ${vendorId} --email <address>, or approve without a vendor`,
    )
  if (vendor) return vendor
  const reason = 'is not a vendor. fix: tenantry marketplace vendors list'
  throw problem('VALIDATION', `vendorId: ${reason}`, { details: [{ path: 'vendorId', reason }] })
}

/** Its account is created with the onboarding: the country comes from a stranger, and the provider never changes it. */
async function newVendor(deps: MarketplaceDeps, tx: Tx, from: SubmissionRecord): Promise<Vendor> {
  const now = isoNow(deps.clock)
  const vendor: Vendor = {
    ...{ id: newId(deps.random, 'vnd'), name: from.vendorName, contactEmail: from.vendorEmail, country: from.vendorCountry },
    ...{ paymentAccountId: null, paymentAccountStatus: 'pending', chargesEnabled: false, payoutsEnabled: false },
    ...{ applicationFeePercent: defaultFeePercent, createdAt: now, updatedAt: now },
  }
  await insertVendor(tx, vendor)
  return vendor
}

async function newItem(deps: WithTx<MarketplaceDeps>, from: SubmissionWithBundle, vendor: Vendor): Promise<ItemRecord> {
  const { tx } = deps
  assertCurrency(from, deps.payments)
  assertCharged(from, deps.payments.currency)
  await lockExclusive(tx, 'marketplace-slugs')
  const now = isoNow(deps.clock)
  const base = slugOf(from.name)
  const { itemType, name, description, iconEmoji, category, version, priceModel, priceCents, currency, bundle } = from
  const screenshots = await screenshotIdsOf(tx, from)
  const item: ItemRecord = {
    ...{
      id: newId(deps.random, 'itm'),
      slug: freeSlug(base, await takenSlugs(tx, base)),
      itemType,
      name,
      description,
      iconEmoji,
      category,
    },
    ...{ version, priceModel, priceCents, currency, bundle, vendorId: vendor.id, vendorName: vendor.name, status: 'published' },
    ...{ paymentProductId: null, paymentPriceId: null, screenshots, seedKey: null, seedHash: null, changedByAdmin: false },
    ...{ withdrawnAt: null, publishedAt: now, createdAt: now, updatedAt: now },
  }
  await insertItem(tx, item)
  if (priceModel !== null) await deps.payments.priceChanged(tx, { itemId: item.id, former: null })
  return item
}

/** The platform changed its currency since the submission was sent. Throws CONFLICT. */
function assertCurrency({ id, currency }: SubmissionRecord, { currency: now }: Pick<MarketplaceDeps['payments'], 'currency'>): void {
  if (currency === null || currency === now) return
  throw problem(
    'CONFLICT',
    `The price of submission ${id} is in ${currency.toUpperCase()}, and prices of the platform are in ${now.toUpperCase()}. fix: tenantry marketplace submissions request-changes ${id} --notes <text>; sent again, the price is in ${now.toUpperCase()}`,
  )
}

type Version = Readonly<{ found: SubmissionWithBundle; vendor: Vendor; itemId: string }>

const flagOf = ({ bundle }: Readonly<{ bundle: unknown }>): string | undefined => (bundle as Partial<AppBundle>).manifest?.featureFlag

/** An update installs no module, so the next version of an app keeps the module of the former. Throws CONFLICT. */
export function assertSameModule(item: ItemRecord, found: Readonly<{ bundle: unknown }>): void {
  const [former, next] = [flagOf(item), flagOf(found)]
  if (former === next) return
  throw problem(
    'CONFLICT',
    `${item.slug} installs the module with the feature flag ${former}, and the submission names ${next}; an update installs no other module. fix: approve it as a new item, or request changes`,
  )
}

const wrongItem = (reason: string) => problem('VALIDATION', `itemId: ${reason}`, { details: [{ path: 'itemId', reason }] })

const screenshotIdsOf = async (tx: Tx, { id }: SubmissionRecord): Promise<string[]> => (await screenshotsOf(tx, id)).map((one) => one.id)

/** The price stays: an operator changes it. Without screenshots of its own a version keeps those of the former one. */
async function newVersion(deps: MarketplaceDeps, tx: Tx, { found, vendor, itemId }: Version): Promise<ItemRecord> {
  const item = await lockItem(tx, itemId)
  if (!item) throw wrongItem(`${itemId} does not exist. fix: tenantry marketplace items list`)
  if (item.itemType !== found.itemType)
    throw wrongItem(`${itemId} is of type ${item.itemType}, and the submission of type ${found.itemType}`)
  if (item.vendorId !== vendor.id)
    throw wrongItem(
      item.vendorId === null
        ? `${itemId} is an item of the platform, which has no vendor`
        : `${itemId} belongs to another vendor. fix: pass its vendor ${item.vendorId} (--vendor)`,
    )
  if (item.withdrawnAt !== null)
    throw problem('CONFLICT', `${item.slug} was withdrawn by its vendor. fix: publish it again, or reject the submission`)
  if (!isNewer(found.version, item.version))
    throw problem('VERSION_EXISTS', `${item.slug} has version ${item.version} already. fix: ask the vendor for a version greater than that`)
  assertSameModule(item, found)
  const { description, iconEmoji, category, version, bundle } = found
  const shown = await screenshotIdsOf(tx, found)
  const screenshots = shown.length > 0 ? shown : item.screenshots
  const next = { ...item, description, iconEmoji, category, version, bundle, screenshots, updatedAt: isoNow(deps.clock) }
  await replaceItem(tx, next)
  return next
}
