import type { Generated } from 'kysely'
import type { AlertChannel, AlertKind, AlertSeverity, AlertStatus, DeliveryStatus } from '../../core/alerts/index.ts'

export type AlertTable = {
  id: Generated<number>
  kind: AlertKind
  key: string
  /** The key while further occurrences are counted; null afterwards. Unique. */
  open_key: string | null
  subject: string
  severity: AlertSeverity
  status: AlertStatus
  title: string
  body: string
  command: string
  standing: 0 | 1
  count: number
  first_at: string
  last_at: string
  /** Time of the latest notification; null before the first. `notified` counts them. */
  notified_at: string | null
  notified: number
  acknowledged_at: string | null
  acknowledged_by: string | null
  closed_at: string | null
  closed_because: string | null
}

export type AlertDeliveryTable = {
  /** Also the id of the webhook's message. */
  id: string
  alert_id: number
  channel: AlertChannel
  /** The mail address, the origin of the webhook, or the name of another channel. */
  target: string
  status: DeliveryStatus
  attempts: number
  last_error: string | null
  created_at: string
  sent_at: string | null
  /** The state that the message reports; a message that is sent after its alert closed says `resolved`. */
  event: 'raised' | 'resolved'
  /** While held: when it is released. */
  held_until: string | null
  /** The message that carries this one with others. */
  digest_id: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    alerts: AlertTable
    alert_deliveries: AlertDeliveryTable
  }
}
