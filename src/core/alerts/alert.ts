import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

/** Each kind calls for a different reaction. */
export const AlertKind = z.enum([
  'probe_failed',
  'action_rolled_back',
  'rollback_failed',
  'deadline_overdue',
  'undo_failed',
  'box_reopened_unproven',
  'wrong_image',
  'rollout_paused',
  'rollout_rolled_back',
  'emergency_created',
  'emergency_started',
  'fence_stuck',
  'host_frozen',
  'snapshot_overdue',
  'snapshot_store_lost',
  'snapshot_damaged',
  'drill_failed',
  'proof_overdue',
  'restore_failed',
  'move_stranded',
  'rollout_signed',
  'audit_broken',
  'budget_high',
  'chat_refused',
  'accounts_remade',
  'passwords_old',
  'followups_late',
  'cron_failed',
  'checkpoint_stalled',
  'run_overdue',
  'run_failed',
  'run_message_failed',
  'run_report_failed',
  'trigger_room_encrypted',
  'trigger_messages_unread',
  'trigger_failed',
  'module_data_not_deleted',
  'module_events_skipped',
  'paid_module_withdrawn',
  'review_due',
  'payment_failed',
  'payment_refunded',
  'payment_stuck',
  'payment_rejected',
  'payment_disputed',
  'refund_failed',
  'invoice_stuck',
  'usage_late',
  'usage_unbilled',
  'usage_rejected',
  'vendor_restricted',
  'plan_ended',
  'suspended_again',
  'plan_duplicate',
  'billing_differs',
])
export type AlertKind = z.infer<typeof AlertKind>

/** Alerts about a failed update that close once the box was restored and passed its probe. */
export const closedByRestore = ['probe_failed', 'box_reopened_unproven', 'wrong_image'] as const satisfies readonly AlertKind[]

/** `critical`: users are cut off or data is at risk. `warning`: an operator must decide. `info`: no action needed. */
export const AlertSeverity = z.enum(['info', 'warning', 'critical'])
export type AlertSeverity = z.infer<typeof AlertSeverity>

/** Open until it is acknowledged, or until the daemon detects that its cause is gone. */
export const AlertStatus = z.enum(['open', 'acknowledged', 'closed'])
export type AlertStatus = z.infer<typeof AlertStatus>

/** Never contains a secret or a stack trace. */
export type NewAlert = Readonly<{
  kind: AlertKind
  /** Deduplication key: while an alert with this key is open, further occurrences are counted. */
  key: string
  /** A tenant's slug, a rollout's id or a host's name. */
  subject: string
  severity: AlertSeverity
  /** Which thing, and what happened to it; readable on a phone. */
  title: string
  /** The event, the state of the data, and the action to take. */
  body: string
  /** The exact command to run next. */
  command: string
  /** A lasting condition that is detected repeatedly: after an acknowledgement it stays quiet until it was resolved once. */
  standing?: boolean
}>

export const AlertId = z.coerce.number().int().min(1).max(2_147_483_647)

/** Messages by status. */
const DeliveryCounts = z.object({ pending: z.number(), sent: z.number(), dead: z.number() })

export const Alert = z.object({
  id: z.number(),
  kind: AlertKind,
  key: z.string(),
  subject: z.string(),
  severity: AlertSeverity,
  status: AlertStatus,
  title: z.string(),
  body: z.string(),
  command: z.string(),
  /** Occurrences while the alert was open. */
  count: z.number(),
  firstAt: Timestamp,
  lastAt: Timestamp,
  acknowledgedAt: Timestamp.nullable(),
  acknowledgedBy: z.string().nullable(),
  closedAt: Timestamp.nullable(),
  /** Why the daemon closed it. */
  closedBecause: z.string().nullable(),
  deliveries: DeliveryCounts,
})
export type Alert = z.infer<typeof Alert>

export const AlertChannel = z.enum(['mail', 'webhook'])
export type AlertChannel = z.infer<typeof AlertChannel>

export const DeliveryStatus = z.enum(['pending', 'sent', 'dead'])
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

/** One message to one recipient. A receiver can drop duplicates by the id, which a resend keeps. */
export const AlertDelivery = z.object({
  id: z.string(),
  channel: AlertChannel,
  /** The mail address, or the webhook's origin (its path may be secret). */
  target: z.string(),
  status: DeliveryStatus,
  attempts: z.number(),
  lastError: z.string().nullable(),
  createdAt: Timestamp,
  sentAt: Timestamp.nullable(),
})
export type AlertDelivery = z.infer<typeof AlertDelivery>

/** A job of any feature that failed on its last attempt. */
export const DeadLetter = z.object({
  id: z.number(),
  topic: z.string(),
  attempts: z.number(),
  lastError: z.string().nullable(),
  createdAt: Timestamp,
})
export type DeadLetter = z.infer<typeof DeadLetter>
