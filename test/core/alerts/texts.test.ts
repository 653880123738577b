import { describe, expect, test } from 'vitest'
import { AlertKind, alertOf, messageText, type NewAlert, subjectLine, webhookBody } from '../../../src/core/alerts/index.ts'
import { explainPause, mustSkipFailures } from '../../../src/core/rollouts/pause-reason.ts'

const at = '2026-01-05T02:00:00.000Z'
const error = { code: 'PROBE_FAILED', message: 'the event that was sent did not come back' }
const ofBox = { rolloutId: 'ro_0123456789abcdefghjk', slug: 'anna-schule', attempt: 1, error }
const rolloutId = ofBox.rolloutId
const cve = { rolloutId: 'cve-20260105-8k2m4x9p', cveId: 'CVE-2026-12345', by: 'admin:anna' }
const reason = 'CVE-2026-12345 is used against schools'

const cases: Readonly<Record<AlertKind, NewAlert>> = {
  probe_failed: alertOf.probe_failed(ofBox),
  action_rolled_back: alertOf.action_rolled_back(ofBox),
  rollback_failed: alertOf.rollback_failed({ ...ofBox, error: { code: 'RESTORE_FAILED', message: 'pg_restore ended with 1' } }),
  deadline_overdue: alertOf.deadline_overdue({ ...ofBox, host: 'host-1' }),
  undo_failed: alertOf.undo_failed({ ...ofBox, error: null }),
  box_reopened_unproven: alertOf.box_reopened_unproven(ofBox),
  wrong_image: alertOf.wrong_image({
    ...ofBox,
    error: { code: 'DIGEST_MISMATCH', message: 'the agent committed, but synapse runs another image than planned' },
  }),
  rollout_paused: alertOf.rollout_paused({
    rolloutId,
    reason: 'canary stopped: anna-schule failed and was restored (PROBE_FAILED: …). Next: resume the rollout to try it again, or abort it.',
  }),
  rollout_rolled_back: alertOf.rollout_rolled_back({ rolloutId, by: 'admin:anna', reason: 'users complain', boxes: 'snapshot' }),
  emergency_created: alertOf.emergency_created({ ...cve, reason, boxes: 812, leftOut: ['linden: BOX_UNHEALTHY'], upToDate: 3 }),
  emergency_started: alertOf.emergency_started({ ...cve, paused: [rolloutId], stoppedUndos: [], leftOut: [], upToDate: 0 }),
  fence_stuck: alertOf.fence_stuck({ slug: 'anna-schule', holder: `${rolloutId}.anna-schule.1.update`, since: at }),
  host_frozen: alertOf.host_frozen({ host: 'host-1' }),
  snapshot_overdue: alertOf.snapshot_overdue({ boxes: [{ slug: 'anna-schule', newestAt: at }] }),
  snapshot_store_lost: alertOf.snapshot_store_lost({
    key: 'snapshot_store_lost:hst_1',
    subject: 'host-1',
    boxes: ['anna-schule', 'ben-schule'],
    error: { code: 'SNAPSHOT_STORE_LOST', message: 'The snapshots in /srv/snapshots/ten_1/v1 are gone: no repository is there' },
  }),
  snapshot_damaged: alertOf.snapshot_damaged({ slug: 'anna-schule', missing: ['3f2a91c0aaaa', '77aa91c0aaaa'], error: null }),
  drill_failed: alertOf.drill_failed({
    slug: 'anna-schule',
    snapshotId: '3f2a91c0aaaa',
    error: { code: 'RESTORE_FAILED', message: 'rows lack' },
  }),
  proof_overdue: alertOf.proof_overdue({ boxes: [{ slug: 'anna-schule', unchecked: true, checkedAt: at, provenAt: null }] }),
  restore_failed: alertOf.restore_failed({ slug: 'anna-schule', snapshotId: '3f2a91c0aaaa', error }),
  move_stranded: alertOf.move_stranded({ slug: 'anna-schule', from: 'host-1', to: 'host-2', error, mayRun: false }),
  rollout_signed: alertOf.rollout_signed({
    rolloutId,
    status: 'done',
    head: { chain: `rollout:${rolloutId}`, count: 17, hash: 'ab'.repeat(32), at, keyId: '0123456789abcdef', signature: 'c2lnbmVk' },
  }),
  audit_broken: alertOf.audit_broken({ chain: 'admin', count: 17, at }),
  budget_high: alertOf.budget_high({ slug: 'anna-schule', percent: 93, budget: 2000, since: at }),
  chat_refused: alertOf.chat_refused({
    slug: 'anna-schule',
    localpart: 'ben.lang',
    status: 'disabled',
    what: 'lock',
    reason: 'User is\u001b[31m odd',
  }),
  accounts_remade: alertOf.accounts_remade({ slug: 'anna-schule', count: 3 }),
  passwords_old: alertOf.passwords_old({ slug: 'anna-schule', count: 3 }),
  checkpoint_stalled: alertOf.checkpoint_stalled({
    slug: 'anna-schule',
    runId: 'run_0123456789abcdefghjk',
    elements: [{ elementId: 'approve', kind: 'checkpoint', role: 'principal', eligible: 1, required: 2 }],
  }),
  run_message_failed: alertOf.run_message_failed({
    ...{ slug: 'anna-schule', runId: 'run_0123456789abcdefghjk', boardId: 'brd_0123456789abcdefghjk', elementId: 'inform' },
  }),
  run_report_failed: alertOf.run_report_failed({
    ...{ slug: 'anna-schule', runId: 'run_0123456789abcdefghjk', boardId: 'brd_0123456789abcdefghjk', elementId: 'summary' },
    ...{ reportId: 'rep_0123456789abcdefghjk', reason: 'quota' },
  }),
  run_overdue: alertOf.run_overdue({ slug: 'anna-schule', runId: 'run_0123456789abcdefghjk', isWhole: true, elements: [] }),
  run_failed: alertOf.run_failed({
    ...{ slug: 'anna-schule', runId: 'run_0123456789abcdefghjk', boardId: 'brd_0123456789abcdefghjk', elementId: 'which' },
    ...{ code: 'EXPRESSION_FAILED', isRetryable: false },
  }),
  cron_failed: alertOf.cron_failed({ jobKey: 'billing-usage-aggregation', reason: 'the process that ran it is gone' }),
  followups_late: alertOf.followups_late({ topic: 'chat.user-lock', count: 2, since: at }),
  trigger_room_encrypted: alertOf.trigger_room_encrypted({ slug: 'anna-schule', roomId: '!room:anna.example' }),
  trigger_messages_unread: alertOf.trigger_messages_unread({ slug: 'anna-schule', roomId: '!room:anna.example' }),
  trigger_failed: alertOf.trigger_failed({ slug: 'anna-schule', boardId: 'brd_0123456789abcdefghjk' }),
  module_data_not_deleted: alertOf.module_data_not_deleted({
    ...{ slug: 'anna-schule', moduleId: 'attendance', reason: 'the service did not answer within 10 s' },
  }),
  module_events_skipped: alertOf.module_events_skipped({ slug: 'anna-schule', moduleId: 'attendance', events: 12_345 }),
  paid_module_withdrawn: alertOf.paid_module_withdrawn({ moduleId: 'attendance', tenants: ['anna-schule', 'ben-schule'] }),
  payment_failed: alertOf.payment_failed({ slug: 'anna-schule', itemName: 'Visitors', subscriptionId: 'sub_1', isUnpaid: false }),
  payment_refunded: alertOf.payment_refunded({
    ...{ slug: 'anna-schule', itemName: 'Visitors', attemptId: 'pay_1', refundedCents: 499, currency: 'eur' },
    reason: 'Tenant anna-schule is suspended, so nothing is bought for it. fix: resume the tenant, then repeat the request',
  }),
  payment_stuck: alertOf.payment_stuck({ slug: 'anna-schule', itemName: 'Visitors', attemptId: 'pay_1', reason: 'the balance is too low' }),
  payment_rejected: alertOf.payment_rejected({
    ...{ itemId: 'item_1', itemName: 'Visitors', slug: 'anna-schule', reason: 'the key lacks a permission' },
  }),
  payment_disputed: alertOf.payment_disputed({
    ...{ slug: 'anna-schule', itemName: 'Visitors', disputeId: 'dp_1', invoiceId: 'in_1', cents: 499, currency: 'eur' },
    ...{ reason: 'fraudulent', dueBy: '2026-03-24T23:59:59.000Z', isLost: false },
  }),
  refund_failed: alertOf.refund_failed({
    ...{ slug: 'anna-schule', itemName: 'modules', refundId: 're_1', invoiceId: 'in_1', cents: 499, currency: 'eur' },
    reason: 'expired_or_canceled_card',
  }),
  invoice_stuck: alertOf.invoice_stuck({ slug: 'anna-schule', invoiceId: 'in_1' }),
  usage_late: alertOf.usage_late({
    ...{ slug: 'anna-schule', month: '2026-03', cents: 1050, currency: 'eur', subscriptionId: 'sub_1', invoiceItemId: 'ii_1' },
  }),
  usage_unbilled: alertOf.usage_unbilled({ count: 3, sums: [{ cents: 2997, currency: 'eur' }] }),
  usage_rejected: alertOf.usage_rejected({ meterId: 'mtr_1', subject: 'billing' }),
  review_due: alertOf.review_due({ submissionId: 'sbm_1', name: 'Visitors' }),
  vendor_restricted: alertOf.vendor_restricted({ vendorId: 'vnd_1', name: 'Flows', pastDue: ['external_account'] }),
  suspended_again: alertOf.suspended_again({ slug: 'anna-schule', lift: 'tenantry tenants resume anna-schule' }),
  plan_ended: alertOf.plan_ended({ slug: 'anna-schule', plan: 'light', subscriptionId: 'sub_1', isSuspended: true }),
  plan_duplicate: alertOf.plan_duplicate({ slug: 'anna-schule', subscriptionId: 'sub_2', knownId: 'sub_1' }),
  billing_differs: alertOf.billing_differs({ count: 2, first: 'price_differs of anna-schule (sub_1)' }),
}

const raised = (alert: NewAlert) => ({ ...alert, id: 12, count: 1, firstAt: at, lastAt: at, closedAt: null, closedBecause: null })
const url = 'https://tenantry.school.example'

describe.each(AlertKind.options)('%s', (kind) => {
  const alert = raised(cases[kind])
  test('subject and mail text', () => {
    expect(`${subjectLine(alert)}\n\n${messageText(alert, url)}`).toMatchSnapshot()
  })
  test('ends with one command, and the subject is under 100 characters', () => {
    expect(messageText(alert, url).split('\n').at(-1)).toBe(`    ${alert.command}`)
    expect(alert.command).toMatch(/^tenantry [a-z]+ [a-z]+/)
    expect(subjectLine(alert).length).toBeLessThan(100)
  })
})

test('the key depends on kind, box, rollout and attempt, not on the error', () => {
  const key = (more: object) => alertOf.rollback_failed({ ...ofBox, ...more }).key
  expect(key({ error: null })).toBe(key({}))
  expect(new Set([key({}), key({ attempt: 2 }), key({ slug: 'north' }), key({ rolloutId: 'ro_1' }), cases.undo_failed.key]).size).toBe(5)
})

test('untrusted text adds no line break, no escape sequence and at most 400 characters', () => {
  const foreign = { code: 'X', message: `one\r\nBcc: x@y.example\u001b[31m${'long '.repeat(1000)}` }
  const { body } = alertOf.action_rolled_back({ ...ofBox, error: foreign })
  expect(body).toContain('X: one Bcc: x@y.example\ufffd[31mlong')
  expect(body.length).toBeLessThan(1000)
})

type Who = Readonly<{ role?: string | null; isStalled?: boolean }>

test('an overdue run says who in the school can continue it', () => {
  const overdue = (
    kind: 'task' | 'checkpoint' | 'form',
    escalationRole: string | null,
    { role = 'teacher', isStalled = false }: Who = {},
  ) =>
    alertOf.run_overdue({
      ...{ slug: 'north', runId: 'run_1', isWhole: false },
      elements: [{ elementId: 'x1', kind, role, escalationRole, isStalled }],
    }).body
  expect(overdue('task', 'head')).toContain('The role head has it now.')
  expect(overdue('form', 'head')).toContain('The role teacher can do it, and so can the escalation role head')
  expect(overdue('checkpoint', 'head')).toContain('The role teacher decides it')
  expect(overdue('form', null, { role: null })).toContain('The user who started the run can do it; its board names no escalation role.')
  expect(overdue('task', 'head')).not.toContain('active user')
  expect(overdue('task', 'head', { isStalled: true })).toContain('The role head has it now. No active user can do it at present.')
  expect(overdue('checkpoint', 'head', { isStalled: true })).toContain('Too few active users can decide it at present.')
})

test('a stalled element says which users it lacks', () => {
  const stalled = (kind: 'task' | 'form', role: string | null) =>
    alertOf.checkpoint_stalled({
      ...{ slug: 'north', runId: 'run_1' },
      elements: [{ elementId: 'x1', kind, role, eligible: 0, required: 1 }],
    }).body
  expect(stalled('task', 'head')).toContain('is done by the role head, which no active user has')
  expect(stalled('form', null)).toContain('is for the user who started it, and that user is not active')
  expect(stalled('task', null)).toContain('is for the user to whom it is assigned, and that user is not active')
})

test('a repeated alert shows its count, a closed one starts with Resolved', () => {
  const again = { ...raised(cases.fence_stuck), count: 3, lastAt: '2026-01-05T03:00:00.000Z' }
  expect(subjectLine(again)).toBe('CRITICAL: anna-schule has been in maintenance too long (3 times)')
  expect(messageText(again, url)).toContain('3 times, last at 2026-01-05 03:00:00 UTC')
  const over = { ...again, closedAt: at, closedBecause: 'the fence was lifted' }
  expect(subjectLine(over)).toMatch(/^Resolved: /)
  expect(messageText(over, url)).toContain('2026-01-05 02:00:00 UTC: the fence was lifted')
})

test('the webhook body has the fields of the mail', () => {
  expect(webhookBody(raised(cases.host_frozen), url)).toMatchSnapshot()
})

test('untrusted error codes stay on one line', () => {
  const { body } = alertOf.probe_failed({ ...ofBox, error: { code: 'X\r\nNothing to do.\u001b[2J', message: 'a\nb' } })
  expect(body.split('\n')).toHaveLength(3)
  expect(body).not.toContain('\u001b')
})

test.each([
  ['rolled_back', `To continue: tenantry rollouts resume ${rolloutId}\n`],
  ['rollback_failed', `To continue: tenantry rollouts resume ${rolloutId} --skip-failed\n`],
] as const)('a pause because of a box in %s names a resume command that the daemon accepts', (status, line) => {
  const failures = [{ slug: 'anna-schule', status, error }]
  const of = { rolloutId, reason: explainPause('canary', failures), mustSkip: mustSkipFailures(failures) }
  expect(alertOf.rollout_paused(of).body).toContain(line)
})

test('a failed payment of an uninstalled item does not say that it stays installed', () => {
  const { body, command } = alertOf.payment_failed({
    ...{ slug: 'anna-schule', itemName: 'Visitors', subscriptionId: 'sub_1', isUnpaid: true, isInstalled: false },
  })
  expect(body).toContain('It does not try again. The item is uninstalled; the payment is for the time before.')
  expect(body).not.toContain('stays installed')
  expect(command).toBe('tenantry tenants billing anna-schule --create-customer')
})
