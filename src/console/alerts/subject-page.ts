import type { AlertKind } from '../../core/alerts/index.ts'

type Page = 'box' | 'rollout' | 'host' | 'tenant' | 'board' | 'run' | 'module' | 'submission' | null

/** The page that shows the subject of an alert; null where there is none. */
const pages: Readonly<Record<AlertKind, Page>> = {
  probe_failed: 'box',
  action_rolled_back: 'box',
  rollback_failed: 'box',
  deadline_overdue: 'box',
  undo_failed: 'box',
  box_reopened_unproven: 'box',
  wrong_image: 'box',
  rollout_paused: 'rollout',
  rollout_rolled_back: 'rollout',
  emergency_created: 'rollout',
  emergency_started: 'rollout',
  fence_stuck: 'box',
  host_frozen: 'host',
  snapshot_overdue: null,
  snapshot_store_lost: null,
  snapshot_damaged: 'box',
  drill_failed: 'box',
  proof_overdue: null,
  restore_failed: 'box',
  move_stranded: 'box',
  rollout_signed: 'rollout',
  audit_broken: null,
  budget_high: 'tenant',
  chat_refused: 'tenant',
  accounts_remade: 'tenant',
  passwords_old: 'tenant',
  followups_late: null,
  cron_failed: null,
  checkpoint_stalled: 'run',
  run_overdue: 'run',
  run_failed: 'run',
  run_message_failed: 'run',
  run_report_failed: 'run',
  trigger_failed: 'board',
  trigger_room_encrypted: 'tenant',
  trigger_messages_unread: 'tenant',
  module_data_not_deleted: 'tenant',
  module_events_skipped: 'tenant',
  paid_module_withdrawn: 'module',
  review_due: 'submission',
  payment_failed: 'tenant',
  payment_refunded: 'tenant',
  payment_stuck: 'tenant',
  payment_rejected: null,
  payment_disputed: 'tenant',
  refund_failed: 'tenant',
  invoice_stuck: 'tenant',
  usage_late: 'tenant',
  usage_unbilled: null,
  usage_rejected: null,
  vendor_restricted: null,
  plan_ended: 'tenant',
  suspended_again: 'tenant',
  plan_duplicate: 'tenant',
  billing_differs: null,
}

/** The page of an alert's subject. A run, board, module, room or chat user is named after its tenant, `school/run_…`. */
export function subjectPage(kind: AlertKind, subject: string): string | undefined {
  const page = pages[kind]
  const [slug = '', rest] = subject.split('/')
  if (page === null) return undefined
  if (page === 'board') return `/boards/${slug}/${rest}`
  if (page === 'run' && rest !== undefined) return `/runs/${slug}/${rest}`
  if (page === 'run' || page === 'tenant') return `/tenants/${slug}`
  if (page === 'submission') return `/marketplace/submissions/${subject}`
  return `/${page === 'box' ? 'boxes' : `${page}s`}/${subject}`
}
