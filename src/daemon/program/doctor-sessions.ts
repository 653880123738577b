import { type Clock, isProblem, type TenantId } from '../../core/kit/index.ts'
import { type Check, failed, passed, warning } from '../../node/command-line.ts'
import { settlingFetch } from '../../node/index.ts'
import type { Config } from '../config/index.ts'
import { agentRepository, assertSnapshotsConfigured, reachesStore } from '../snapshots/index.ts'

/** Whom the session is for matters to nobody: it is thrown away. */
const nobody = 'ten_doctor' as TenantId

const name = 'snapshot sessions'
const hourMs = 60 * 60_000

/** What agents are given to reach a bucket with; where there are sessions, one is asked for. */
export async function storeSessions({ clock }: Readonly<{ clock: Clock }>, config: Config): Promise<Check[]> {
  if (!reachesStore(config)) return []
  const { snapshotSessions: sessions } = config
  if (!sessions)
    return [
      warning(
        name,
        'every host has the same key of the snapshot store: whoever takes over one can overwrite what all tenants have there',
        'set TENANTRY_SNAPSHOT_SESSIONS_ENDPOINT: each command then gets a session for its tenant alone (docs/snapshots.md, Setting up)',
      ),
    ]
  try {
    assertSnapshotsConfigured(config)
    await agentRepository({ clock, fetch: settlingFetch }, config, nobody)
    return [
      ending(config, sessions) ?? passed(name, `from ${new URL(sessions.endpoint).origin}, for one tenant and ${sessions.hours} h each`),
    ]
  } catch (error) {
    if (!isProblem(error)) throw error
    return [
      failed(name, error.message, 'no snapshot can be taken until agents get a session: correct the settings, or the rights of the key'),
    ]
  }
}

/** A session that ends in the middle of a snapshot or a restore takes the command with it. */
function ending({ snapshots: { deadlineMs } }: Config, { hours }: NonNullable<Config['snapshotSessions']>): Check | undefined {
  if (hours * hourMs >= deadlineMs) return undefined
  return warning(
    name,
    `sessions end after ${hours} h, and one snapshot or restore may take ${Math.round((10 * deadlineMs) / hourMs) / 10} h: whatever takes longer than its session fails`,
    'raise TENANTRY_SNAPSHOT_SESSIONS_HOURS, or lower TENANTRY_SNAPSHOTS_DEADLINE_MS',
  )
}
