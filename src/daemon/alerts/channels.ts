import type { AlertChannel } from '../../core/alerts/index.ts'

/** One place that messages go to. `target` may be shown: of the webhook it is only the origin, because its path may open it. */
export type Channel = Readonly<{ channel: AlertChannel; target: string }>

export type AlertSettings = Readonly<{
  mailTo: readonly string[]
  webhook?: Readonly<{ url: string; secret: string }> | undefined
  repeatAfterMs: number
}>

/** A message of its own for each reader: whoever cannot be reached keeps no other from being told, and is told again alone. */
export const channelsOf = ({ mailTo, webhook }: Pick<AlertSettings, 'mailTo' | 'webhook'>): Channel[] => [
  ...[...new Set(mailTo)].map((target) => ({ channel: 'mail', target }) as const),
  ...(webhook ? [{ channel: 'webhook', target: new URL(webhook.url).origin } as const] : []),
]
