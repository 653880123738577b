import type { EngineInfo, HostResources } from '../../core/hosts/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** The values of a host for metrics, as its agent last reported them. */
export type HostMetrics = Readonly<{
  id: string
  name: string
  status: 'active' | 'frozen'
  lastSeenAt: string | null
  agentVersion: string | null
  engine: EngineInfo | null
  resources: HostResources | null
  clockOffsetMs: number | null
}>

/** Hosts by name, without revoked ones: they stay in the table for ever. */
export async function hostMetrics(db: DbOrTx, limit: number): Promise<HostMetrics[]> {
  const rows = await db
    .selectFrom('hosts')
    .select(['id', 'name', 'status', 'last_seen_at', 'agent_version', 'engine', 'resources', 'clock_offset_ms'])
    .where('status', 'in', ['active', 'frozen'])
    .orderBy('name')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    status: row.status === 'frozen' ? 'frozen' : 'active',
    lastSeenAt: row.last_seen_at,
    agentVersion: row.agent_version,
    engine: row.engine === null ? null : JSON.parse(row.engine),
    resources: row.resources === null ? null : JSON.parse(row.resources),
    clockOffsetMs: row.clock_offset_ms === null ? null : Number(row.clock_offset_ms),
  }))
}
