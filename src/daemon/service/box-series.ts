import { type HealthState, Severity } from '../../core/boxes/index.ts'
import type { BoxMetrics } from '../boxes/index.ts'
import { type Families, label, type Series } from './series.ts'

/** Metrics per live box. */
export const boxFamilies = {
  tenantry_box_info: {
    type: 'gauge',
    labels: ['box', 'host', 'tier', 'synapse', 'postgres', 'minio'],
    help: 'Always 1; host, tier and reported versions of the box, to join with',
  },
  tenantry_box_up: { type: 'gauge', labels: ['box'], help: 'Whether users can write messages: 1 where the state is running or degraded' },
  tenantry_box_state: {
    type: 'gauge',
    labels: ['box', 'state'],
    help: '1 for the state of the box, 0 for the others: running, degraded, down, maintenance, unknown (no fresh report)',
  },
  tenantry_box_drift: {
    type: 'gauge',
    labels: ['box', 'severity'],
    help: '1 for the drift from the manifest, 0 for the others: none, minor, major, unknown (no fresh report)',
  },
  tenantry_box_report_age_seconds: { type: 'gauge', labels: ['box'], help: 'Time since the last report; absent before the first one' },
  tenantry_box_probe_age_seconds: {
    type: 'gauge',
    labels: ['box'],
    help: 'Time since the last reported probe; absent before the first one. Agents check every minute and report what changed',
  },
  tenantry_box_probe_success: {
    type: 'gauge',
    labels: ['box', 'component'],
    help: 'Whether the component answered the last reported probe: chatApi, chatSync, database, objectStorage',
  },
  tenantry_box_probe_duration_seconds: {
    type: 'gauge',
    labels: ['box', 'component'],
    help: 'Duration of the last reported probe by component',
  },
  tenantry_box_database_bytes: { type: 'gauge', labels: ['box'], help: 'Size of the chat database' },
  tenantry_box_media_bytes: { type: 'gauge', labels: ['box'], help: 'Size of the media of the chat server' },
  tenantry_box_object_bytes: { type: 'gauge', labels: ['box'], help: 'Size of the object storage' },
  tenantry_box_container_restarts_total: {
    type: 'counter',
    labels: ['box', 'service'],
    help: 'Restarts of the container by the engine; begins at 0 with each new container',
  },
  tenantry_box_snapshot_age_seconds: {
    type: 'gauge',
    labels: ['box'],
    help: 'Age of the newest snapshot of a managed box; of the box itself before its first one',
  },
} as const satisfies Families

const states = ['running', 'degraded', 'down', 'maintenance', 'unknown'] as const satisfies readonly HealthState[]

type Moment = Readonly<{ nowMs: number; newestSnapshots: ReadonlyMap<string, string> }>

/** Adds the samples of one box. */
export function addBox(series: Series<typeof boxFamilies>, one: BoxMetrics, { nowMs, newestSnapshots }: Moment): void {
  const box = label('box', one.slug)
  const age = (at: string | null | undefined) => (at ? Math.max(0, nowMs - Date.parse(at)) / 1000 : null)
  series.add('tenantry_box_info', `${box},${infoOf(one)}`, 1)
  series.add('tenantry_box_up', box, one.state === 'running' || one.state === 'degraded' ? 1 : 0)
  series.addState('tenantry_box_state', box, { key: 'state', states, current: one.state })
  series.addState('tenantry_box_drift', box, { key: 'severity', states: Severity.options, current: one.severity })
  series.add('tenantry_box_report_age_seconds', box, age(one.reportedAt))
  series.add('tenantry_box_probe_age_seconds', box, age(one.probe?.at))
  for (const [component, { ok, ms }] of Object.entries(one.probe?.components ?? {})) {
    const labels = `${box},${label('component', component)}`
    series.add('tenantry_box_probe_success', labels, ok ? 1 : 0)
    series.add('tenantry_box_probe_duration_seconds', labels, ms / 1000)
  }
  series.add('tenantry_box_database_bytes', box, one.databaseBytes)
  series.add('tenantry_box_media_bytes', box, one.facts?.mediaBytes)
  series.add('tenantry_box_object_bytes', box, one.facts?.objectBytes)
  for (const [service, running] of Object.entries(one.services))
    series.add('tenantry_box_container_restarts_total', `${box},${label('service', service)}`, running?.restartCount)
  if (one.managed) series.add('tenantry_box_snapshot_age_seconds', box, age(newestSnapshots.get(one.tenantId) ?? one.createdAt))
}

const infoOf = ({ host, tier, installed: { synapse, postgres, minio } }: BoxMetrics): string =>
  Object.entries({ host, tier, synapse, postgres, minio })
    .map(([name, value]) => label(name, value))
    .join(',')
