import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { alertKinds } from './kinds.ts'

export const AlertKind = z.enum(Object.keys(alertKinds) as [AlertKind, ...AlertKind[]])
export type AlertKind = keyof typeof alertKinds

/** `critical`: users are cut off or data is at risk. `warning`: an operator must decide. `info`: no action needed. */
export const AlertSeverity = z.enum(['info', 'warning', 'critical'])
export type AlertSeverity = z.infer<typeof AlertSeverity>

/** Open until it is acknowledged, or until the daemon detects that its cause is gone. */
export const AlertStatus = z.enum(['open', 'acknowledged', 'closed'])
export type AlertStatus = z.infer<typeof AlertStatus>

/** Never contains a secret or a stack trace. */
export type NewAlert = Readonly<{
  kind: AlertKind
  /** A tenant's slug, a rollout's id or a host's name. */
  subject: string
  /** Deduplication key: while an alert with this key is open, further occurrences are counted. Without it there is one for each kind and subject. */
  key?: string
  /** Without it that of the kind. */
  severity?: AlertSeverity
  /** Which thing, and what happened to it; readable on a phone. */
  title: string
  /** The event, its effect on users and data, and the action to take. */
  body: string
  /** The exact command to run next. */
  command: `tenantry ${string}`
  /** A lasting condition that is detected repeatedly: after an acknowledgement it stays quiet until it was resolved once. */
  standing?: boolean
}>

/** The key of an alert of which a subject may have several, each with another `id`. */
export const alertKey = (kind: AlertKind, id: string): string => `${kind}:${id}`

export const AlertId = z.coerce.number().int().min(1).max(2_147_483_647)

/** Messages by status; held ones are pending. */
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

/** The form in which a channel takes messages. */
export const AlertChannel = z.enum(['mail', 'webhook', 'matrix', 'slack', 'ntfy', 'pagerduty'])
export type AlertChannel = z.infer<typeof AlertChannel>

/** `held`: waits for the end of quiet hours, or for the daily digest. */
export const DeliveryStatus = z.enum(['pending', 'held', 'sent', 'dead'])
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

/** One message to one recipient. A receiver can drop duplicates by the id, which a resend keeps. */
export const AlertDelivery = z.object({
  id: z.string(),
  channel: AlertChannel,
  /** The mail address, the webhook's origin (its path may be secret), or the name of a channel in `alerts.channels`. */
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
