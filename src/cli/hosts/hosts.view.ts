import type { HostView } from '../../core/hosts/index.ts'
import { bytesText, duration, fold } from '../../core/kit/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table } from '../kit/index.ts'

const tint = { online: 'green', offline: 'yellow', frozen: 'red', revoked: 'dim' } as const satisfies Record<
  HostView['status'],
  keyof Paint
>

/** `skewed +5m 3s` when the host's clock is ahead; undefined without skew. */
function skewOf({ skewed, clockOffsetMs }: HostView): string | undefined {
  if (!skewed || clockOffsetMs === null) return undefined
  const seconds = Math.round(Math.abs(clockOffsetMs) / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  return `skewed ${clockOffsetMs > 0 ? '+' : '-'}${hours > 0 ? `${hours}h ` : ''}${minutes}m ${seconds % 60}s`
}

const statusOf = (host: HostView): string => [host.status, skewOf(host)].filter(Boolean).join(', ')
const paintOf = (host: HostView): keyof Paint => (host.status === 'online' && skewOf(host) ? 'yellow' : tint[host.status])

const freeDisk = ({ resources: has, diskLow }: HostView) => has && `${bytesText(has.freeDiskBytes)}${diskLow ? ' !' : ''}`

const columns = ({ now }: Style): Column<HostView>[] => [
  { title: 'HOST', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'STATUS', value: statusOf, priority: 1, paint: paintOf },
  { title: 'LAST SEEN', value: ({ lastSeenAt }) => ago(lastSeenAt, now), priority: 2 },
  { title: 'AGENT', value: ({ agentVersion }) => agentVersion, priority: 3 },
  { title: 'ENGINE', value: ({ engine }) => engine?.engine, priority: 4 },
  { title: 'CPUS', value: ({ resources }) => resources?.cpus, priority: 5, align: 'right' },
  { title: 'LOAD', value: ({ resources }) => resources?.load?.[0]?.toFixed(1), priority: 5, align: 'right' },
  { title: 'BOXES', value: ({ resources }) => resources?.boxes, priority: 5, align: 'right' },
  {
    title: 'FREE DISK',
    value: freeDisk,
    priority: 4,
    align: 'right',
    paint: ({ diskLow }) => (diskLow ? 'red' : undefined),
  },
  { title: 'REASON', value: ({ reason }) => reason, priority: 3, minWidth: 12 },
]

export const hostList = ({ hosts }: { hosts: readonly HostView[] }, style: Style): string =>
  hosts.length === 0
    ? 'No hosts yet. Invite one: tenantry hosts invite <name>'
    : sections(table(style, columns(style), hosts), fold(hosts.flatMap(adviceFor).join('\n'), style.width))

/** One line with a fix per problem of the host. */
function adviceFor(host: HostView): string[] {
  const { name, status, diskLow } = host
  return [
    ...(status === 'frozen'
      ? [
          `${name} is frozen: two agents use its key. fix: stop the other agent, then \`tenantry hosts invite ${name}\` and enrol this one again.`,
        ]
      : []),
    ...(skewOf(host) ? [`${name} has a wrong clock (${skewOf(host)}). fix: on the host, \`timedatectl set-ntp true\``] : []),
    ...(diskLow ? [`${name} has less than 10 % free disk; updates and snapshots may be refused. fix: free disk space on it`] : []),
  ]
}

export function hostView(host: HostView, style: Style): string {
  const { paint, now } = style
  const { resources: has, engine } = host
  const facts = fields(style, [
    ['host', paint.bold(host.name)],
    ['status', paint[paintOf(host)](statusOf(host))],
    ['reason', host.reason && clean(host.reason)],
    ['last seen', stamp(host.lastSeenAt, now) ?? 'never'],
    ['enrolled', stamp(host.enrolledAt, now), 'detail'],
    ['key since', stamp(host.keySince, now)],
    ['agent', host.agentVersion && `${clean(host.agentVersion)} (protocol ${host.protocolVersion})`],
    ['engine', engine && `Docker ${clean(engine.engine)}, compose ${clean(engine.compose)}, restic ${clean(engine.restic ?? 'missing')}`],
    ...(has ? resourceLines(has, host.diskLow, style) : []),
    ['last report', has && stamp(host.resourcesAt, now)],
    ['id', host.id, 'detail'],
  ])
  return sections(facts, adviceFor(host).join('\n'))
}

type Resources = NonNullable<HostView['resources']>

function resourceLines(has: Resources, diskLow: boolean, { paint }: Style): [string, string | null | undefined][] {
  const { load, memoryAvailableBytes: available, boxes, diskReserve, agentRssBytes, uptimeMs } = has
  const disk = `${bytesText(has.freeDiskBytes)} of ${bytesText(has.diskBytes)} free${has.diskPath === undefined ? '' : ` (${clean(has.diskPath)})`}`
  return [
    ['cpus', `${has.cpus}${load ? `, load ${load.map((value) => value.toFixed(2)).join(' ')}` : ''}`],
    ['memory', `${bytesText(has.memoryBytes)}${available === undefined ? '' : `, ${bytesText(available)} available`}`],
    ['disk', diskLow ? paint.red(`${disk} (!)`) : disk],
    ['boxes', boxes?.toString()],
    ['disk reserve', diskReserve === 'used' ? paint.red('used: the disk was full; free disk space') : diskReserve && 'intact'],
    ['agent uses', agentRssBytes === undefined ? undefined : `${bytesText(agentRssBytes)}, up for ${duration(uptimeMs ?? 0)}`],
  ]
}
