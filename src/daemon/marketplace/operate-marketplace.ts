import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import { problem } from '../../core/kit/index.ts'
import {
  type AppBundle,
  appWarnings,
  type Item,
  type ItemStatus,
  type Submission,
  type SubmissionStatus,
  type SubmissionSummary,
} from '../../core/marketplace/index.ts'
import type { Db } from '../db/index.ts'
import { moduleWithFlag } from './bundle.ts'
import type { MarketplaceDeps } from './deps.ts'
import { findItem, itemsOf, type ListedItemRecord } from './items.repo.ts'
import { screenshotsOf } from './screenshots.repo.ts'
import { bundleOf, findSubmission, type SubmissionRecord, type SubmissionWithBundle, submissionsOf } from './submissions.repo.ts'
import { vendorsOf, vendorsWithAddress } from './vendors.repo.ts'

type Deps = Pick<MarketplaceDeps, 'db'>
type Page = Readonly<{ cursor?: string | undefined; limit: number }>

const rangeOf = ({ cursor, limit }: Page) => ({ after: cursor === undefined ? undefined : readPageEnd(cursor), limit: limit + 1 })

type Viewed = ListedItemRecord & Readonly<{ bundle?: unknown }>

/** An item as operators read it, without its bundle. */
export const itemView = ({ bundle: _, seedKey, seedHash: __, screenshots, category, ...item }: Viewed): Item => ({
  ...item,
  category: category as Item['category'],
  screenshots: [...screenshots],
  isSeed: seedKey !== null,
})

/** A page of items in every status, newest first. Throws VALIDATION for an invalid cursor. */
export async function listItems({ db }: Deps, { status, ...range }: Page & Readonly<{ status?: ItemStatus | undefined }>) {
  const { page, nextCursor } = pageOf(await itemsOf(db, { status, ...rangeOf(range) }), range.limit, pageEnd)
  return { items: page.map(itemView), nextCursor }
}

/** A page of vendors, newest first. Throws VALIDATION for an invalid cursor. */
export async function listVendors({ db }: Deps, range: Page) {
  const { page, nextCursor } = pageOf(await vendorsOf(db, rangeOf(range)), range.limit, pageEnd)
  return { vendors: page, nextCursor }
}

const summaryOf = (one: SubmissionRecord): SubmissionSummary => ({
  ...{ id: one.id, itemType: one.itemType, name: one.name, category: one.category as SubmissionSummary['category'] },
  ...{ version: one.version, vendorName: one.vendorName, vendorEmail: one.vendorEmail, proven: one.provenAt !== null },
  ...{ priceModel: one.priceModel, priceCents: one.priceCents, currency: one.currency, status: one.status },
  ...{ createdAt: one.createdAt, updatedAt: one.updatedAt },
})

/** A submission as reviewers read it. */
const submissionView = (one: SubmissionWithBundle, beside: Pick<Submission, 'vendors' | 'forItem' | 'screenshots'>): Submission => ({
  ...summaryOf(one),
  ...{ description: one.description, iconEmoji: one.iconEmoji, vendorCountry: one.vendorCountry, vendorId: one.vendorId, ...beside },
  ...{ round: one.round, bundle: one.bundle, warnings: [...one.warnings], reviewNotes: one.reviewNotes, reviewedAt: one.reviewedAt },
  ...{ reviewedBy: one.reviewedBy, approvedItemId: one.approvedItemId },
})

/** A page of submissions, newest first. Throws VALIDATION for an invalid cursor. */
export async function listSubmissions({ db }: Deps, { status, ...range }: Page & Readonly<{ status?: SubmissionStatus | undefined }>) {
  const { page, nextCursor } = pageOf(await submissionsOf(db, { status, ...rangeOf(range) }), range.limit, pageEnd)
  return { submissions: page.map(summaryOf), nextCursor }
}

export const noSuchSubmission = (id: string) =>
  problem('NOT_FOUND', `Submission ${id} does not exist. fix: tenantry marketplace submissions list`)

/** Modules are approved and withdrawn while a submission waits, so the warnings of an app are those of now. */
async function warningsOf(deps: Pick<MarketplaceDeps, 'db'>, one: SubmissionWithBundle): Promise<readonly string[]> {
  if (one.itemType === 'flow' || one.status === 'rejected' || one.status === 'approved') return one.warnings
  const bundle = one.bundle as AppBundle
  return appWarnings(bundle, await moduleWithFlag(deps.db, bundle.manifest.featureFlag))
}

async function itemOf(db: Db, { itemId }: SubmissionRecord): Promise<Submission['forItem']> {
  const item = itemId === null ? undefined : await findItem(db, itemId)
  return item ? { id: item.id, name: item.name, version: item.version } : null
}

/** Throws NOT_FOUND. */
export async function showSubmission(deps: Pick<MarketplaceDeps, 'db'>, { id }: Readonly<{ id: string }>): Promise<Submission> {
  const { db } = deps
  const listed = await findSubmission(db, id)
  if (!listed) throw noSuchSubmission(id)
  const stored = { ...listed, bundle: await bundleOf(db, id) }
  const found = { ...stored, warnings: await warningsOf(deps, stored) }
  const { vendorEmail: email, itemType } = found
  const mayJoin = found.status === 'pending' && found.provenAt !== null
  const vendors = mayJoin ? await vendorsWithAddress(db, { email, itemType }) : []
  return submissionView(found, { vendors, forItem: await itemOf(db, found), screenshots: await screenshotsOf(db, id) })
}
