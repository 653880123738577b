import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

/** What an operator is woken for. A kind of its own for each thing that wants another answer. */
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
])
export type AlertKind = z.infer<typeof AlertKind>

/** What an update that failed left a box in, users on it: over once the box is proven after it was brought back. */
export const mendedByWayBack = ['probe_failed', 'box_reopened_unproven', 'wrong_image'] as const satisfies readonly AlertKind[]

/** `critical`: users are cut off or data is in danger. `warning`: something waits for a person. `info`: worth knowing. */
export const AlertSeverity = z.enum(['info', 'warning', 'critical'])
export type AlertSeverity = z.infer<typeof AlertSeverity>

/** Open until somebody acknowledges it or the daemon sees that it is over. */
export const AlertStatus = z.enum(['open', 'acknowledged', 'closed'])
export type AlertStatus = z.infer<typeof AlertStatus>

/** What is told. It never holds a secret, and nothing of a stack trace. */
export type NewAlert = Readonly<{
  kind: AlertKind
  /** The same thing has the same key: while its alert is open it is counted, not raised again. */
  key: string
  /** What it is about: a tenant's slug, a rollout's id, a host's name. */
  subject: string
  severity: AlertSeverity
  /** What a person reads first, on a phone, woken up: which one, and what became of it. */
  title: string
  /** What happened, what is safe, what may be done. */
  body: string
  /** The exact line to type next. */
  command: string
  /** It is looked at again and again while it lasts: who acknowledged it is not told anew until it was over. */
  standing?: boolean
}>

export const AlertId = z.coerce.number().int().min(1).max(2_147_483_647)

/** How its messages fared; null counts nothing. */
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
  /** How often it happened while the alert was open. */
  count: z.number(),
  firstAt: Timestamp,
  lastAt: Timestamp,
  acknowledgedAt: Timestamp.nullable(),
  acknowledgedBy: z.string().nullable(),
  closedAt: Timestamp.nullable(),
  /** Why the daemon took it as over. */
  closedBecause: z.string().nullable(),
  deliveries: DeliveryCounts,
})
export type Alert = z.infer<typeof Alert>

export const AlertChannel = z.enum(['mail', 'webhook'])
export type AlertChannel = z.infer<typeof AlertChannel>

export const DeliveryStatus = z.enum(['pending', 'sent', 'dead'])
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

/** One message to one place. A receiver that got it twice (its sender died in between) knows it by the same id. */
export const AlertDelivery = z.object({
  id: z.string(),
  channel: AlertChannel,
  /** The address, or the webhook's origin: its path may be a secret. */
  target: z.string(),
  status: DeliveryStatus,
  attempts: z.number(),
  lastError: z.string().nullable(),
  createdAt: Timestamp,
  sentAt: Timestamp.nullable(),
})
export type AlertDelivery = z.infer<typeof AlertDelivery>

/** Follow-up work of any room that was tried to no avail and given up. */
export const DeadLetter = z.object({
  id: z.number(),
  topic: z.string(),
  attempts: z.number(),
  lastError: z.string().nullable(),
  createdAt: Timestamp,
})
export type DeadLetter = z.infer<typeof DeadLetter>
