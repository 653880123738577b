import { z } from 'zod'
import { admin, type Contract, endpoint, Paging } from '../contract/index.ts'
import { Alert, AlertChannel, AlertDelivery, AlertId, AlertKind, AlertStatus, DeadLetter } from './alert.ts'

const base = '/api/admin/v1/alerts'
const one = z.strictObject({ id: AlertId })

export const AlertDetail = z.object({ alert: Alert, deliveries: z.array(AlertDelivery) })
export type AlertDetail = z.infer<typeof AlertDetail>

/** What became of a test message at one place. */
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
      /** Follow-up work of any room that was given up, newest first, at most 50. */
      deadLetters: z.array(DeadLetter),
    }),
    summary: 'List alerts, those that happened last first, and follow-up work that was given up',
  }),
  getAlert: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: one,
    returns: AlertDetail,
    summary: 'Show an alert with each message of it',
  }),
  acknowledgeAlert: endpoint({
    method: 'POST',
    path: `${base}/:id/acknowledge`,
    auth: admin('operator'),
    params: one,
    returns: AlertDetail,
    problems: ['CONFLICT'],
    summary: 'Somebody is on it: it is not sent again; a second call changes nothing',
  }),
  resendAlert: endpoint({
    method: 'POST',
    path: `${base}/:id/resend`,
    auth: admin('operator'),
    params: one,
    /** `dead`: what was given up, under its old ids. `all`: anew, to every place that is set now. */
    body: z.strictObject({ which: z.enum(['dead', 'all']).default('dead') }),
    returns: AlertDetail,
    problems: ['CONFLICT', 'CONFIG'],
    summary: 'Send its messages again',
  }),
  testAlerts: endpoint({
    method: 'POST',
    path: `${base}/test`,
    auth: admin('operator'),
    perAddress: 1,
    body: z.strictObject({ channel: AlertChannel.optional() }),
    returns: z.object({ tried: z.array(TriedChannel) }),
    problems: ['CONFIG'],
    summary: 'Send a test through every channel at once, and answer what each said',
  }),
} as const satisfies Contract
