import { z } from 'zod'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { Alert, AlertChannel, AlertDelivery, AlertId, AlertKind, AlertSeverity, AlertStatus, DeadLetter, DeliveryStatus } from './alert.ts'

const base = '/api/admin/v1/alerts'
const one = z.strictObject({ id: AlertId })

export const AlertDetail = z.object({
  alert: Alert,
  deliveries: z.array(AlertDelivery),
  summaryId: z.int().optional().meta({ description: 'The alert whose message covers this one, which has none' }),
  hasChannels: z.boolean().meta({ description: 'Whether a channel gets alerts of this kind and severity' }),
})
export type AlertDetail = z.infer<typeof AlertDetail>

/** A channel with its rules and the outcome of its latest message. Neither a secret nor the path of an address is part of it. */
export const ChannelState = z.object({
  name: z.string().meta({ description: 'Name in `alerts.rules`, and for a test: `mail`, `webhook`, or that in `alerts.channels`' }),
  channel: AlertChannel,
  target: z.string(),
  address: z.string().meta({ description: 'The mail address, or the server that takes the messages' }),
  minSeverity: AlertSeverity,
  kinds: z.array(AlertKind).nullable().meta({ description: 'Kinds that are sent; null: all' }),
  quietHours: z.string().nullable().meta({ description: 'Time of day without messages, except critical ones' }),
  dailyAt: z.string().nullable().meta({ description: 'Time of day of the digest of info alerts; null: sent at once' }),
  timeZone: z.string(),
  held: z.number().meta({ description: 'Messages that wait for a digest' }),
  last: z.object({ status: DeliveryStatus, at: Timestamp, error: z.string().nullable() }).nullable(),
})
export type ChannelState = z.infer<typeof ChannelState>

/** The name of a configured channel. */
export const ChannelName = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be a name of lower-case letters, digits and -, such as on-call')

/** The result of one test message. */
export const TriedChannel = z.object({ channel: AlertChannel, target: z.string(), ok: z.boolean(), says: z.string() })
export type TriedChannel = z.infer<typeof TriedChannel>

export const alertsContract = {
  listAlerts: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    query: Paging.extend({ status: AlertStatus.optional(), kind: AlertKind.optional(), subject: z.string().min(1).max(200).optional() }),
    returns: z.object({
      alerts: z.array(Alert),
      nextCursor: z.string().nullable(),
      /** Jobs of any feature that failed on their last attempt, newest first, at most 50. */
      deadLetters: z.array(DeadLetter),
    }),
    summary: 'List alerts, latest occurrence first, and dead jobs',
  }),
  listAlertChannels: endpoint({
    method: 'GET',
    path: `${base}/channels`,
    auth: admin('viewer'),
    returns: z.object({ channels: z.array(ChannelState) }),
    summary: 'List notification channels with their rules and the outcome of the latest message',
  }),
  getAlert: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: one,
    returns: AlertDetail,
    summary: 'Show an alert and its messages',
  }),
  acknowledgeAlert: endpoint({
    method: 'POST',
    audit: 'alert.acknowledged',
    path: `${base}/:id/acknowledge`,
    auth: admin('operator'),
    params: one,
    returns: AlertDetail,
    problems: ['CONFLICT'],
    summary: 'Acknowledge an alert; it is not sent again (idempotent)',
  }),
  resendAlert: endpoint({
    method: 'POST',
    audit: 'alert.resent',
    path: `${base}/:id/resend`,
    auth: admin('operator'),
    params: one,
    /** `dead`: retry failed messages under their ids. `all`: new messages to every configured recipient. */
    body: z.strictObject({ which: z.enum(['dead', 'all']).default('dead') }),
    returns: AlertDetail,
    problems: ['CONFLICT', 'CONFIG'],
    summary: 'Send the messages of an alert again',
  }),
  testAlerts: endpoint({
    method: 'POST',
    audit: 'alerts.tested',
    path: `${base}/test`,
    auth: admin('operator'),
    perAddress: 1,
    cost: 'remote',
    body: z.strictObject({ channel: ChannelName.optional() }),
    returns: z.object({ tried: z.array(TriedChannel) }),
    problems: ['CONFIG', 'NOT_FOUND'],
    summary: 'Send a test message through every channel and return each result',
  }),
} as const satisfies Contract
