import { type Alert, severestFirst } from '../../core/alerts/index.ts'
import { type BoxRow, boxState, healthSentence } from '../../core/boxes/index.ts'
import type { HostView } from '../../core/hosts/index.ts'
import { type EmergencyLack, emergencyLackText, listedState, progressText, type RolloutSummary } from '../../core/rollouts/index.ts'
import { healthLine, listAllBoxes } from '../boxes/index.ts'
import { clean, command, fields, type Paint, type Style, sections } from '../kit/index.ts'

type Status = Readonly<{
  installation: string | null
  alerts: readonly Alert[]
  rollouts: readonly RolloutSummary[]
  emergencyLacks: readonly EmergencyLack[]
  boxes: Readonly<{ total: number; health: ReturnType<typeof healthSentence>; states: Counts; drift: Counts }>
  hosts: readonly Pick<HostView, 'name' | 'status' | 'diskLow'>[]
}>
type Counts = Readonly<Record<string, number>>

export const status = command('status', 'Show alerts, rollouts, drift and hosts on one screen', {
  run: async (context): Promise<Status> => {
    const { alerts, hosts, rollouts, service } = context.api
    const [{ installation }, alertPage, rolloutPage, hostPage, boxes] = await Promise.all([
      service.readyz(),
      alerts.listAlerts({ query: { status: 'open', limit: 200 } }),
      rollouts.listRollouts({ query: { limit: 50 } }),
      hosts.listHosts(),
      listAllBoxes(context),
    ])
    return {
      installation,
      alerts: alertPage.alerts.toSorted(severestFirst),
      rollouts: rolloutPage.rollouts.filter(isOpen),
      emergencyLacks: rolloutPage.emergencyLacks,
      boxes: summaryOf(boxes.filter(({ status }) => status !== 'removed')),
      hosts: hostPage.hosts.filter(({ status }) => status !== 'revoked').map(({ name, status, diskLow }) => ({ name, status, diskLow })),
    }
  },
  view: statusView,
})

const over = ['done', 'failed', 'rolled_back']
/** Also finished ones whose boxes are still being rolled back. */
const isOpen = ({ status, counts: { rollback } }: RolloutSummary): boolean =>
  !over.includes(status) || (rollback !== null && rollback.pending + rollback.running > 0)

function summaryOf(boxes: readonly BoxRow[]): Status['boxes'] {
  return {
    total: boxes.length,
    health: healthSentence(boxes),
    states: countBy(boxes, boxState),
    drift: countBy(boxes, ({ severity }) => severity),
  }
}

function countBy<Thing>(things: readonly Thing[], keyOf: (thing: Thing) => string): Counts {
  const counts: Record<string, number> = {}
  for (const thing of things) counts[keyOf(thing)] = (counts[keyOf(thing)] ?? 0) + 1
  return counts
}

function lackLine(lacks: readonly EmergencyLack[], paint: Paint): string | undefined {
  const text = emergencyLackText(lacks)
  return text && paint.yellow(`${text}. fix: \`tenantryd doctor\` says how`)
}

/** Rows of a part that fit on one screen with the other parts. */
const maxLines = 4

function statusView({ installation, alerts, rollouts, emergencyLacks, boxes, hosts }: Status, style: Style): string {
  const { paint } = style
  return sections(
    fields(style, [
      ['chats', boxes.total === 0 ? 'no boxes' : healthLine(boxes.health, style)],
      ['daemon', installation === null ? style.url : `${clean(installation)} (${style.url})`],
      ['alerts', alerts.length === 0 ? paint.green('none open') : paint.red(`${alerts.length} open`)],
      ...capped(alerts, ({ id, severity, title }) => `${id}  ${severity}  ${clean(title)}`, 'tenantry alerts list'),
      ['rollouts', rollouts.length === 0 ? 'none active' : paint.yellow(`${rollouts.length} active`)],
      ...capped(rollouts, rolloutLine, 'tenantry rollouts list'),
      ['emergencies', lackLine(emergencyLacks, paint)],
      ['boxes', boxes.total === 0 ? 'none' : countsText(boxes.states, { good: 'running', paint })],
      ['drift', boxes.total === 0 ? undefined : countsText(inWords(boxes.drift), { good: 'in sync', paint })],
      [
        'hosts',
        hosts.length === 0
          ? 'none'
          : countsText(
              countBy(hosts, ({ status }) => status),
              { good: 'online', paint },
            ),
      ],
      ...capped(
        hosts.filter(({ status, diskLow }) => status !== 'online' || diskLow),
        ({ name, status, diskLow }) => `${clean(name)}  ${status}${diskLow ? ', low disk' : ''}`,
        'tenantry hosts list',
      ),
    ]),
    nextOf({ alerts, rollouts, boxes, hosts }),
  )
}

const inWords = ({ none, ...others }: Counts): Counts => ({ ...(none === undefined ? {} : { 'in sync': none }), ...others })

function capped<Thing>(things: readonly Thing[], line: (thing: Thing) => string, all: string): (readonly [string, string])[] {
  const more = things.length - maxLines
  return [...things.slice(0, maxLines).map(line), ...(more > 0 ? [`and ${more} more: ${all}`] : [])].map(
    (text) => ['', `  ${text}`] as const,
  )
}

const rolloutLine = (rollout: RolloutSummary): string => `${rollout.id}  ${listedState(rollout)}, ${progressText(rollout.counts)}`

function countsText(counts: Counts, { good, paint }: Readonly<{ good: string; paint: Paint }>): string {
  const parts = Object.entries(counts).toSorted(([a], [b]) => Number(b === good) - Number(a === good) || (a < b ? -1 : 1))
  return parts.map(([word, count]) => (word === good ? paint.green : paint.yellow)(`${count} ${word}`)).join(', ')
}

/** The one command for what needs an operator first. */
function nextOf({ alerts, rollouts, boxes, hosts }: Omit<Status, 'emergencyLacks' | 'installation'>): string {
  const [alert] = alerts
  const paused = rollouts.find(({ status }) => status === 'paused')
  if (alert) return `Next: tenantry alerts show ${alert.id}`
  if (paused) return `Next: tenantry rollouts show ${paused.id}`
  if (rollouts[0]) return `Next: tenantry rollouts watch ${rollouts[0].id}`
  const offline = hosts.find(({ status }) => status !== 'online')
  if (offline) return `Next: tenantry hosts show ${clean(offline.name)}`
  if (hosts.length === 0) return 'Next: tenantry hosts invite <name>'
  return (boxes.drift.minor ?? 0) + (boxes.drift.major ?? 0) > 0 ? 'Next: tenantry rollouts plan' : ''
}
