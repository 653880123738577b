import { escapeHtml, isoNow } from '../../core/kit/index.ts'
import type { SubmissionStatus } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import { htmlPage } from '../http/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { assertToken } from './links.ts'
import { findSubmission, lockSubmission, replaceSubmission } from './submissions.repo.ts'
import { noSuchSubmission, showSubmissionState } from './submit-item.ts'

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
export async function confirmAddress(deps: Pick<MarketplaceDeps, 'db' | 'clock' | 'keyring'>, { id, token }: Link): Promise<string> {
  assertToken(deps.keyring, { id, round: 0, purpose: 'confirm', token })
  await deps.db.transaction().execute(async (tx) => {
    const locked = await lockSubmission(tx, id)
    if (!locked) throw noSuchSubmission(id)
    if (locked.provenAt !== null) return
    await replaceSubmission(tx, { ...locked, provenAt: isoNow(deps.clock) })
    const actor = { kind: 'system', name: 'marketplace' } as const
    await recordAudit(tx, deps.clock, { actor, action: 'marketplace.address-proven', subject: id, data: { submissionId: id } })
  })
  return pageOf(confirmed)
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
