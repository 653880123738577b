import type { FlowBundle } from '../../core/boards/index.ts'
import { isoNow, problem, randomText } from '../../core/kit/index.ts'
import {
  assertCharged,
  checkApp,
  checkFlow,
  type NewSubmission,
  type SubmissionContent,
  type SubmissionState,
  storedCents,
  submissionAfter,
} from '../../core/marketplace/index.ts'
import { enqueueJob, type Tx } from '../db/index.ts'
import { moduleWithFlag } from './bundle.ts'
import type { MarketplaceDeps } from './deps.ts'
import { countAnswer, countSubmission, nextReceiptAt } from './intake.ts'
import { assertToken } from './links.ts'
import { mailTopic } from './mail-vendor.ts'
import { expectReview } from './review-due.ts'
import {
  findSubmission,
  insertSubmission,
  lockSubmission,
  replaceSubmission,
  type SubmissionRecord,
  type SubmissionWithBundle,
} from './submissions.repo.ts'

type From = Readonly<{ address: string }>

export const noSuchSubmission = (id: string) =>
  problem('NOT_FOUND', `Submission ${id} does not exist. fix: use the id that the submission returned`)

/** The view of a stranger with the id: no address. */
const stateOf = ({ id, itemType, name, version, status, reviewNotes, createdAt, updatedAt }: SubmissionRecord): SubmissionState => ({
  ...{ submissionId: id, itemType, name, version, status, reviewNotes, createdAt, updatedAt },
})

/** Warnings for the reviewer. Throws VALIDATION with a path for each fault. */
export async function checkBundle(deps: Pick<MarketplaceDeps, 'db' | 'roles'>, body: SubmissionContent): Promise<string[]> {
  if (body.itemType === 'flow') return checkFlow(body.bundle, new Set(Object.keys(deps.roles.roles)))
  return checkApp(body.bundle, await moduleWithFlag(deps.db, body.bundle.manifest.featureFlag))
}

type Sender = Readonly<{ vendorName: string; vendorEmail: string; vendorCountry: string }>

export const contentOf = (body: SubmissionContent & Sender, currency: string) => ({
  ...{ itemType: body.itemType, name: body.name, description: body.description, iconEmoji: body.iconEmoji, category: body.category },
  ...{ version: body.version, vendorName: body.vendorName, vendorEmail: body.vendorEmail, vendorCountry: body.vendorCountry },
  ...{ priceModel: body.priceModel ?? null, priceCents: storedCents(body) },
  currency: body.priceModel ? currency : null,
  bundle: body.bundle as FlowBundle | Record<string, unknown>,
})

/** Stores a submission for review and mails a receipt. A refused one counts too: the check costs the same. Throws VALIDATION, RATE_LIMITED. */
export async function submitItem(deps: MarketplaceDeps, body: NewSubmission, from: From) {
  await deps.db.transaction().execute((tx) => countSubmission(deps, tx, from))
  assertCharged(body, deps.payments.currency)
  const warnings = await checkBundle(deps, body)
  const { clock } = deps
  return deps.db.transaction().execute(async (tx) => {
    const now = isoNow(clock)
    const one: SubmissionWithBundle = {
      // 26 characters of 5 bits: the id is the only key to the status page.
      ...{ id: `sbm_${randomText(deps.random, 26)}`, ...contentOf(body, deps.payments.currency), warnings, status: 'pending', round: 1 },
      ...{ vendorId: null, provenAt: null, reviewNotes: null, reviewedAt: null, reviewedBy: null, itemId: null },
      approvedItemId: null,
      ...{ createdAt: now, updatedAt: now },
    }
    await insertSubmission(tx, one)
    await sendReceipt(deps, tx, one)
    await expectReview(deps, tx, one)
    return { ...stateOf(one), warnings }
  })
}

async function sendReceipt(deps: MarketplaceDeps, tx: Tx, { id, round, vendorEmail }: SubmissionRecord): Promise<void> {
  const runAt = await nextReceiptAt(deps, tx, vendorEmail)
  if (runAt === null) return
  await enqueueJob(tx, deps.clock, { topic: mailTopic, payload: { submissionId: id, kind: 'receipt', round }, runAt })
}

/** Throws NOT_FOUND. */
export async function showSubmissionState({ db }: Pick<MarketplaceDeps, 'db'>, { id }: Readonly<{ id: string }>): Promise<SubmissionState> {
  const found = await findSubmission(db, id)
  if (!found) throw noSuchSubmission(id)
  return stateOf(found)
}

type Repeated = Readonly<{ id: string; token: string; body: NewSubmission }>

/**
 * Sends a submission again after a request for changes. Kind and address stay: the address may be proven. Throws NOT_FOUND, FORBIDDEN,
 * INVALID_TRANSITION, VALIDATION, RATE_LIMITED.
 */
export async function repeatSubmission(deps: MarketplaceDeps, { id, token, body }: Repeated) {
  const found = await findSubmission(deps.db, id)
  if (!found) throw noSuchSubmission(id)
  assertToken(deps.keyring, { id, round: found.round, purpose: 'repeat', token })
  submissionAfter(id, { from: found.status, action: 'revise' })
  assertSame(found, body)
  await deps.db.transaction().execute((tx) => countAnswer(deps, tx, { id }))
  assertCharged(body, deps.payments.currency)
  const warnings = await checkBundle(deps, body)
  return deps.db.transaction().execute(async (tx) => {
    const locked = await lockSubmission(tx, id)
    if (!locked) throw noSuchSubmission(id)
    const content = { ...contentOf(body, deps.payments.currency), vendorEmail: locked.vendorEmail }
    const next = await storeRevision(deps, tx, { locked, content, warnings })
    await sendReceipt(deps, tx, next)
    return { ...stateOf(next), warnings }
  })
}

type Revision = Readonly<{ locked: SubmissionRecord; content: Partial<SubmissionWithBundle>; warnings: readonly string[] }>

/** Stores the next round of a submission, which waits for its review again. Throws INVALID_TRANSITION. */
export async function storeRevision(
  deps: Pick<MarketplaceDeps, 'clock'>,
  tx: Tx,
  { locked, content, warnings }: Revision,
): Promise<SubmissionRecord> {
  const status = submissionAfter(locked.id, { from: locked.status, action: 'revise' })
  const next = { ...locked, ...content, warnings, status, round: locked.round + 1, updatedAt: isoNow(deps.clock) }
  await replaceSubmission(tx, next)
  await expectReview(deps, tx, next)
  return next
}

/** Throws VALIDATION. */
export function assertSameType({ itemType }: Pick<SubmissionRecord, 'itemType'>, body: SubmissionContent): void {
  if (body.itemType === itemType) return
  const reason = `must stay ${itemType}`
  throw problem('VALIDATION', `itemType: ${reason}`, { details: [{ path: 'itemType', reason }] })
}

function assertSame(found: SubmissionRecord, body: NewSubmission): void {
  const reasons = [
    ...(body.itemType === found.itemType ? [] : [{ path: 'itemType', reason: `must stay ${found.itemType}` }]),
    ...(body.vendorEmail.toLowerCase() === found.vendorEmail.toLowerCase()
      ? []
      : [{ path: 'vendorEmail', reason: 'must stay the address of the first sending' }]),
  ]
  if (reasons[0]) throw problem('VALIDATION', `${reasons[0].path}: ${reasons[0].reason}`, { details: reasons })
}
