import { type Actor, escapeHtml, isoNow, type VendorActor } from '../../core/kit/index.ts'
import type { SubmissionStatus, VendorSubmissionDetail } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { htmlPage } from '../http/index.ts'
import { announceItem } from './announce-item.ts'
import type { MarketplaceDeps } from './deps.ts'
import { assertToken } from './links.ts'
import { findSubmission, lockSubmission, replaceSubmission, type SubmissionRecord } from './submissions.repo.ts'
import { noSuchSubmission, showSubmissionState } from './submit-item.ts'
import { lockOwnSubmission, vendorSubmissionView } from './vendor-account.ts'
import { isOfStrangers, lockAddress, lockVendor, mergeVendor, vendorOfAddress } from './vendors.repo.ts'

type Link = Readonly<{ id: string; token: string }>

/**
 * The page behind the link of a receipt. It changes nothing: mail scanners open links, and only the button confirms the address. Throws FORBIDDEN,
 * NOT_FOUND.
 */
export async function showConfirmation({ db, keyring }: Pick<MarketplaceDeps, 'db' | 'keyring'>, { id, token }: Link): Promise<string> {
  assertToken(keyring, { id, round: 0, purpose: 'confirm', token })
  const found = await findSubmission(db, id)
  if (!found) throw noSuchSubmission(id)
  if (found.provenAt !== null) return pageOf(confirmed)
  const name = escapeHtml(found.name)
  return pageOf(`<h1>Confirm your address</h1>
<p>The submission &quot;${name}&quot; names this mail address as that of its vendor. If you sent it, confirm the address.</p>
<form method="post"><button>Confirm address</button></form>
<p>If you submitted nothing, close this page.</p>`)
}

/** Marks the address of a vendor as proven; again changes nothing. Throws FORBIDDEN, NOT_FOUND. */
export async function confirmAddress(deps: MarketplaceDeps, { id, token }: Link): Promise<string> {
  assertToken(deps.keyring, { id, round: 0, purpose: 'confirm', token })
  await deps.db.transaction().execute(async (tx) => {
    const locked = await lockSubmission(tx, id)
    if (!locked) throw noSuchSubmission(id)
    await proveAddress(deps, tx, { locked, actor: { kind: 'system', name: 'marketplace' } })
  })
  return pageOf(confirmed)
}

/** The vendor confirms a submission of its address from its account; again changes nothing. Throws NOT_FOUND. */
export const confirmSubmission = (
  deps: MarketplaceDeps,
  actor: VendorActor,
  { id }: Readonly<{ id: string }>,
): Promise<VendorSubmissionDetail> =>
  deps.db
    .transaction()
    .execute(async (tx) =>
      vendorSubmissionView(tx, await proveAddress(deps, tx, { locked: await lockOwnSubmission(tx, actor, id), actor })),
    )

type Proven = Readonly<{ locked: SubmissionRecord; actor: Actor }>

/** Marks the address of a submission as proven. Returns the submission as it is now. */
async function proveAddress(deps: MarketplaceDeps, tx: Tx, { locked, actor }: Proven): Promise<SubmissionRecord> {
  if (locked.provenAt !== null) return locked
  const { id: submissionId } = locked
  const vendorId = await vendorAfterProof(deps, tx, locked)
  const next = { ...locked, provenAt: isoNow(deps.clock), vendorId }
  await replaceSubmission(tx, next)
  const merged = vendorId === locked.vendorId ? {} : { vendorId, formerVendorId: locked.vendorId }
  await recordAudit(tx, deps.clock, {
    ...{ actor, action: 'marketplace.address-proven', subject: submissionId, data: { submissionId, ...merged } },
  })
  return next
}

/**
 * A submission that was approved before its address was proven got a vendor of its own where another one stood for the address. Now both are one: its
 * items move to the oldest vendor of the address. A vendor that anything but such submissions stands for stays.
 */
async function vendorAfterProof(deps: MarketplaceDeps, tx: Tx, { vendorId, vendorEmail }: SubmissionRecord): Promise<string | null> {
  if (vendorId === null) return null
  const email = vendorEmail.toLowerCase()
  await lockAddress(tx, email)
  const known = await vendorOfAddress(tx, { email, proven: true })
  if (known === undefined || known === vendorId || !(await isOfStrangers(tx, vendorId))) return vendorId
  const vendor = await lockVendor(tx, known)
  if (!vendor) return vendorId
  for (const itemId of await mergeVendor(tx, { from: vendorId, to: vendor })) {
    await deps.payments.termsChanged(tx, { itemId })
    await announceItem(deps, tx, itemId)
  }
  return known
}

const nextSteps: Readonly<Record<SubmissionStatus, string>> = {
  pending: 'A reviewer answers within 2 working days, by mail.',
  'needs-changes': 'Correct your submission and send it again with the command of the mail.',
  approved: 'There is nothing to do.',
  rejected: 'You can send a new submission.',
}

/** The page behind the status link of a receipt: like the status, without address. Throws NOT_FOUND. */
export async function showSubmissionPage(deps: Pick<MarketplaceDeps, 'db'>, one: Readonly<{ id: string }>): Promise<string> {
  const { name, version, status, reviewNotes } = await showSubmissionState(deps, one)
  const notes = reviewNotes ? `<p>Notes of the reviewer:</p>\n<pre>${escapeHtml(reviewNotes)}</pre>\n` : ''
  return pageOf(`<h1>${escapeHtml(name)} ${escapeHtml(version)}</h1>
<p>Status: ${status.replace('-', ' ')}. ${nextSteps[status]}</p>
${notes}`)
}

const confirmed = '<h1>Address confirmed</h1>\n<p>Thank you. You can close this page.</p>'

/** The form has no address of its own: it posts to the link, also behind a proxy with a path. */
const pageOf = (body: string): string => htmlPage(body, { title: 'Tenantry marketplace' })
