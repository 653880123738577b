import type { AlertKind, AlertSeverity, NewAlert } from './alert.ts'

/** So many alerts of one kind are told one by one within the time; what comes beyond has one cause, and one message for all. */
export const mostOfAKind = { count: 20, withinMs: 15 * 60_000 } as const

const isOfMany = 'many:'

/** Of one whose text is itself the thing to keep, and of the message for all, each is sent. */
export const standsAlone = ({ kind, key }: Readonly<{ kind: AlertKind; key: string }>): boolean =>
  kind === 'rollout_signed' || key.startsWith(isOfMany)

/** One message for all alerts of a kind that were not told by themselves: it counts them. */
export const manyAlerts = ({ kind, severity }: Readonly<{ kind: AlertKind; severity: AlertSeverity }>): NewAlert => ({
  kind,
  key: `${isOfMany}${kind}`,
  subject: 'many at once',
  severity,
  title: `Many alerts at once: ${kind}`,
  body:
    `More than ${mostOfAKind.count} alerts of the kind ${kind} came within ${mostOfAKind.withinMs / 60_000} minutes. Those beyond are kept and ` +
    'listed, but not sent one by one: this message speaks for them all. So many at once have one cause more often than many: look for it first.',
  command: `tenantry alerts list --kind ${kind} --status open`,
})
