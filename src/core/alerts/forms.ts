import { escapeHtml } from '../kit/index.ts'
import { type AlertMessage, isAlert, subjectLine } from './message.ts'
import { humanTime } from './phrases.ts'

// The bodies of messages to services of others. Parts are shortened before they are escaped, so that no escape is cut.

const maxSubjectLength = 250

/** At most `maxLength` UTF-16 units; no character is cut in two. */
function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const cut = text.slice(0, maxLength - 1)
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`
}

/** The parts that every form shows, within its length. */
function partsOf(alert: AlertMessage, maxLength: number) {
  const { id, subject, body, command, firstAt, closedAt, closedBecause } = alert
  const closed = closedAt === null ? [] : [`Closed: ${humanTime(closedAt)}${closedBecause === null ? '' : `: ${closedBecause}`}`]
  const facts = [`About: ${subject}`, `Since: ${humanTime(firstAt)}`, ...closed, ...(isAlert(alert) ? [`Alert: ${id}`] : [])]
  return {
    heading: shortened(subjectLine(alert), maxSubjectLength),
    body: shortened(body, maxLength),
    facts: facts.map((fact) => shortened(fact, maxSubjectLength)),
    command: shortened(command, 400),
  }
}

/** The content of `m.room.message`. A notice for what needs no action, because clients do not alert people of notices. It mentions no user. */
export function matrixBody(alert: AlertMessage) {
  const { heading, body, facts, command } = partsOf(alert, 8000)
  const lines = (text: string) => escapeHtml(text).replaceAll('\n', '<br>')
  return {
    msgtype: alert.closedAt !== null || alert.severity === 'info' ? 'm.notice' : 'm.text',
    body: [heading, body, facts.join('\n'), `Next command: ${command}`].join('\n\n'),
    format: 'org.matrix.custom.html',
    formatted_body:
      `<p><strong>${lines(heading)}</strong></p><p>${lines(body)}</p><p>${facts.map(lines).join('<br>')}</p>` +
      `<pre><code>${escapeHtml(command)}</code></pre>`,
    'm.mentions': {},
  }
}

/** Slack's three escapes, and no user is mentioned: compatible services read `@here` in a text, and `<!here>` is escaped. */
const slackText = (text: string): string => slackEscaped(text).replace(/@(?=\w)/g, '@\u200B')

const slackEscaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Asterisks and backticks of a text would end the bold heading or the command. */
const withoutMarks = (text: string): string => text.replace(/[*`]/g, "'")

/** An incoming webhook of Slack, or of a service that takes its form. */
export function slackBody(alert: AlertMessage) {
  const { heading, body, facts, command } = partsOf(alert, 2500)
  const text = [
    `*${slackText(withoutMarks(heading).replaceAll('\n', ' '))}*`,
    slackText(withoutMarks(body)),
    slackText(withoutMarks(facts.join('\n'))),
    `\`\`\`${slackEscaped(withoutMarks(command))}\`\`\``,
  ]
  return { text: text.join('\n') }
}

const ntfyLooks = {
  critical: { priority: 5, tags: ['rotating_light'] },
  warning: { priority: 4, tags: ['warning'] },
  info: { priority: 2, tags: ['information_source'] },
} as const

/** A longer message is turned into an attachment by ntfy. */
const ntfyBytes = 4096

/** The JSON form of ntfy, as plain text. */
export function ntfyBody(alert: AlertMessage, topic: string) {
  const { heading, body, facts, command } = partsOf(alert, ntfyBytes)
  const end = `\n\n${withinBytes(facts.join('\n'), 800)}\n\n${command}`
  const looks = alert.closedAt === null ? ntfyLooks[alert.severity] : { priority: 3, tags: ['white_check_mark'] }
  return { topic, title: heading, message: withinBytes(body, ntfyBytes - byteLength(end)) + end, ...looks }
}

const byteLength = (text: string): number => new TextEncoder().encode(text).length

function withinBytes(text: string, max: number): string {
  let shown = text
  while (byteLength(shown) > max && shown.length > 1) shown = shortened(text, Math.floor(shown.length * 0.9))
  return shown
}

const maxSummaryLength = 1024

/** Alerts of one daemon and number are one incident. */
const dedupKey = ({ id, kind, firstAt }: AlertMessage, url: string): string =>
  `tenantry/${new URL(url).host}/${kind === 'test' ? `test/${firstAt}` : id}`

type EventContext = Readonly<{ routingKey: string; url: string }>

/** An event of the PagerDuty Events API v2: a closed alert resolves what the same alert triggered. */
export function pagerDutyBody(alert: AlertMessage, { routingKey, url }: EventContext) {
  const event = { routing_key: routingKey, dedup_key: dedupKey(alert, url) }
  if (alert.closedAt !== null) return { ...event, event_action: 'resolve' }
  const { body, command } = partsOf(alert, 8000)
  const about = shortened(alert.subject, maxSubjectLength)
  return {
    ...event,
    event_action: 'trigger',
    client: 'Tenantry',
    client_url: url,
    payload: {
      summary: shortened(subjectLine(alert), maxSummaryLength),
      source: about,
      severity: alert.severity,
      timestamp: alert.lastAt,
      class: alert.kind,
      custom_details: { alert: alert.id, about, details: body, command, count: alert.count },
    },
  }
}
