import { plural } from '../kit/index.ts'
import { type AlertMessage, subjectLine } from './message.ts'
import { humanTime, quoted } from './phrases.ts'
import { bySeverity } from './severity.ts'

const maxLines = 40
const maxTitleLength = 200

/** One message for alerts that a channel held back, the most severe first, as they are now. At least one alert. */
export function digestMessage(alerts: readonly AlertMessage[], at: string): AlertMessage {
  const rank = ({ closedAt, severity }: AlertMessage) => (closedAt === null ? bySeverity.indexOf(severity) : bySeverity.length)
  const sorted = alerts.toSorted((a, b) => rank(a) - rank(b) || a.id - b.id)
  const open = alerts.filter(({ closedAt }) => closedAt === null)
  const lines = sorted
    .slice(0, maxLines)
    .map((one) => `${one.id}. ${quoted(subjectLine(one), maxTitleLength)}, since ${humanTime(one.firstAt)}`)
  const more = alerts.length - lines.length
  return {
    id: 0,
    kind: 'digest',
    subject: 'this installation',
    severity: bySeverity.find((severity) => open.some((one) => one.severity === severity)) ?? 'info',
    title: `Digest of ${plural(alerts.length, 'alert')}, ${open.length} open`,
    body: [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n'),
    command: 'tenantry alerts list',
    count: 1,
    firstAt: sorted.map(({ firstAt }) => firstAt).toSorted()[0] ?? at,
    lastAt: at,
    closedAt: null,
    closedBecause: null,
  }
}
