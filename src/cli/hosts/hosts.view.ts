import type { HostView } from '../../core/hosts/index.ts'
import { ago, type Column, clean, fields, type Look, type Paint, stamp, table } from '../kit/index.ts'

const tint = { online: 'green', offline: 'yellow', frozen: 'red', revoked: 'dim' } as const satisfies Record<
  HostView['status'],
  keyof Paint
>

const gigabytes = (bytes: number) => `${Math.round(bytes / 2 ** 30)} GB`

const columns = ({ now }: Look): Column<HostView>[] => [
  { title: 'HOST', value: ({ name }) => name, priority: 1, least: 12 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => tint[status] },
  { title: 'SEEN', value: ({ lastSeenAt }) => ago(lastSeenAt, now), priority: 2 },
  { title: 'AGENT', value: ({ agentVersion }) => agentVersion, priority: 3 },
  { title: 'ENGINE', value: ({ engine }) => engine?.engine, priority: 4 },
  { title: 'CPUS', value: ({ resources }) => resources?.cpus, priority: 5, align: 'right' },
  {
    title: 'FREE DISK',
    value: ({ resources }) => resources && gigabytes(resources.freeDiskBytes),
    priority: 4,
    align: 'right',
  },
  { title: 'REASON', value: ({ reason }) => reason, priority: 3, least: 12 },
]

export const hostList = ({ hosts }: { hosts: readonly HostView[] }, look: Look): string =>
  hosts.length === 0 ? 'No hosts yet. Invite one: tenantry hosts invite <name>' : table(look, columns(look), hosts)

export function hostView(host: HostView, look: Look): string {
  const { paint, now } = look
  const { resources: has, engine } = host
  return fields(look, [
    ['host', paint.bold(host.name)],
    ['status', paint[tint[host.status]](host.status)],
    ['reason', host.reason && clean(host.reason)],
    ['last seen', stamp(host.lastSeenAt, now) ?? 'never'],
    ['enrolled', stamp(host.enrolledAt, now)],
    ['agent', host.agentVersion && `${clean(host.agentVersion)} (protocol ${host.protocolVersion})`],
    ['engine', engine && `Docker ${clean(engine.engine)}, compose ${clean(engine.compose)}, restic ${clean(engine.restic ?? 'missing')}`],
    [
      'machine',
      has &&
        `${has.cpus} CPUs, ${gigabytes(has.memoryBytes)} memory, ${gigabytes(has.freeDiskBytes)} of ${gigabytes(has.diskBytes)} disk free`,
    ],
    ['id', host.id],
  ])
}
