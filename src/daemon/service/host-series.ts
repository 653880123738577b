import { isOffline } from '../../core/hosts/index.ts'
import type { HostMetrics } from '../hosts/index.ts'
import { type Families, label, type Series } from './series.ts'

/** Metrics per host that is not revoked. */
export const hostFamilies = {
  tenantry_host_info: {
    type: 'gauge',
    labels: ['host', 'agent_version', 'engine', 'compose', 'restic'],
    help: 'Always 1; versions of the agent and its tools, empty where unknown',
  },
  tenantry_host_up: { type: 'gauge', labels: ['host'], help: 'Whether the agent is connected: 1 where the state is online' },
  tenantry_host_state: {
    type: 'gauge',
    labels: ['host', 'state'],
    help: '1 for the state of the host, 0 for the others: online, offline, frozen (two agents used its key)',
  },
  tenantry_host_last_seen_age_seconds: {
    type: 'gauge',
    labels: ['host'],
    help: 'Time since the last call of the agent; absent before the first one',
  },
  tenantry_host_boxes: { type: 'gauge', labels: ['host'], help: 'Live boxes that are assigned to the host' },
  tenantry_host_disk_bytes: {
    type: 'gauge',
    labels: ['host'],
    help: 'Size of the fullest disk with boxes, volumes or the state of the agent',
  },
  tenantry_host_disk_free_bytes: {
    type: 'gauge',
    labels: ['host'],
    help: 'Free space on the fullest disk with boxes, volumes or the state of the agent',
  },
  tenantry_host_memory_bytes: { type: 'gauge', labels: ['host'], help: 'Memory of the machine' },
  tenantry_host_memory_available_bytes: { type: 'gauge', labels: ['host'], help: 'Memory that programs can still get' },
  tenantry_host_cpus: { type: 'gauge', labels: ['host'], help: 'Processors of the machine' },
  tenantry_host_load1: { type: 'gauge', labels: ['host'], help: 'Load average over 1 minute' },
  tenantry_host_load5: { type: 'gauge', labels: ['host'], help: 'Load average over 5 minutes' },
  tenantry_host_load15: { type: 'gauge', labels: ['host'], help: 'Load average over 15 minutes' },
  tenantry_host_clock_offset_seconds: { type: 'gauge', labels: ['host'], help: 'Clock of the host minus the clock of the daemon' },
} as const satisfies Families

type Moment = Readonly<{ now: Date; offlineAfterMs: number; boxes: ReadonlyMap<string, number> }>

/** Adds the samples of one host. */
export function addHost(series: Series<typeof hostFamilies>, one: HostMetrics, { now, offlineAfterMs, boxes }: Moment): void {
  const host = label('host', one.name)
  const state = one.status === 'frozen' ? 'frozen' : isOffline(one, now, offlineAfterMs) ? 'offline' : 'online'
  series.add('tenantry_host_info', `${host},${infoOf(one)}`, 1)
  series.add('tenantry_host_up', host, state === 'online' ? 1 : 0)
  series.addState('tenantry_host_state', host, { key: 'state', states: ['online', 'offline', 'frozen'], current: state })
  if (one.lastSeenAt)
    series.add('tenantry_host_last_seen_age_seconds', host, Math.max(0, now.getTime() - Date.parse(one.lastSeenAt)) / 1000)
  series.add('tenantry_host_boxes', host, boxes.get(one.id) ?? 0)
  const { resources } = one
  series.add('tenantry_host_disk_bytes', host, resources?.diskBytes)
  series.add('tenantry_host_disk_free_bytes', host, resources?.freeDiskBytes)
  series.add('tenantry_host_memory_bytes', host, resources?.memoryBytes)
  series.add('tenantry_host_memory_available_bytes', host, resources?.memoryAvailableBytes)
  series.add('tenantry_host_cpus', host, resources?.cpus)
  series.add('tenantry_host_load1', host, resources?.load?.[0])
  series.add('tenantry_host_load5', host, resources?.load?.[1])
  series.add('tenantry_host_load15', host, resources?.load?.[2])
  series.add('tenantry_host_clock_offset_seconds', host, one.clockOffsetMs === null ? null : one.clockOffsetMs / 1000)
}

const infoOf = ({ agentVersion, engine }: HostMetrics): string =>
  Object.entries({ agent_version: agentVersion, engine: engine?.engine, compose: engine?.compose, restic: engine?.restic })
    .map(([name, value]) => label(name, value ?? ''))
    .join(',')
