import { escapeHtml } from '../kit/index.ts'

type Decision = Readonly<{
  action: 'approve' | 'reject'
  notes: string
  developer: string
  moduleId: string
  version: string
  submissionId: string
}>

/** Subject, text and HTML of the mail to a developer after a review. Notes and names are texts of people: escapeHtml in HTML. */
export function decisionMail({ action, notes, developer, moduleId, version, submissionId }: Decision) {
  const isApproved = action === 'approve'
  const what = `${moduleId} ${version}`
  const result = isApproved
    ? `A reviewer approved your module ${what}. It is listed in the store, and tenants can install it.`
    : `A reviewer rejected your module ${what}. It is not listed.`
  const next = isApproved
    ? ['To publish a change, raise "version" in module.json. Then run:']
    : ['Fix what the reviewer names. The version can stay as it is. Then run:']
  const commands = [
    'tenantry modules check <dir>',
    'tenantry modules pack <dir>',
    `tenantry modules submit ${moduleId}-${isApproved ? '<version>' : version}.zip`,
  ]
  const heading = isApproved ? 'Notes of the reviewer:' : 'Reason:'
  const noted = notes === '' ? [] : [heading, '', ...notes.split('\n').map((line) => `    ${line}`), '']
  const text = [
    ...[`Hello ${developer},`, '', result, '', ...noted, ...next, ''],
    ...[...commands.map((command) => `    ${command}`), '', `Submission: ${submissionId}`, ''],
  ].join('\n')
  const html = [
    `<p>Hello ${escapeHtml(developer)},</p>`,
    `<p>${escapeHtml(result)}</p>`,
    ...(notes === '' ? [] : [`<p>${heading}</p>`, `<blockquote style="white-space: pre-wrap">${escapeHtml(notes)}</blockquote>`]),
    ...next.map((line) => `<p>${escapeHtml(line)}</p>`),
    `<pre>${commands.map(escapeHtml).join('\n')}</pre>`,
    `<p>Submission: ${escapeHtml(submissionId)}</p>`,
  ].join('\n')
  return { subject: `${what} was ${isApproved ? 'approved' : 'rejected'}`, text, html }
}
