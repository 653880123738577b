import { z } from 'zod'
import { admin, type Contract, endpoint, Paging } from '../contract/index.ts'
import { Alert, AlertChannel, AlertDelivery, AlertId, AlertKind, AlertStatus, DeadLetter } from './alert.ts'

const base = '/api/admin/v1/alerts'
const one = z.strictObject({ id: AlertId })

export const AlertDetail = z.object({
  alert: Alert,
  deliveries: z.array(AlertDelivery),
  summaryId: z.int().optional().meta({ description: 'The alert whose message covers this one, which has none' }),
  hasChannels: z.boolean().meta({ description: 'Whether a channel is configured' }),
})
export type AlertDetail = z.infer<typeof AlertDetail>

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
    body: z.strictObject({ channel: AlertChannel.optional() }),
    returns: z.object({ tried: z.array(TriedChannel) }),
    problems: ['CONFIG'],
    summary: 'Send a test message through every channel and return each result',
  }),
} as const satisfies Contract
