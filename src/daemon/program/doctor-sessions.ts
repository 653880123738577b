import { type Clock, isProblem, type TenantId } from '../../core/kit/index.ts'
import { type Check, failed, passed, warning } from '../../node/command-line.ts'
import { settlingFetch } from '../../node/index.ts'
import type { Config } from '../config/index.ts'
import { agentRepository, assertSnapshotsConfigured, reachesStore } from '../snapshots/index.ts'

/** A placeholder tenant: the session is discarded. */
const testTenant = 'ten_doctor' as TenantId

const name = 'snapshot sessions'
const hourMs = 60 * 60_000

/** Checks the agents' access to the bucket; requests a test session if sessions are configured. */
export async function storeSessions({ clock }: Readonly<{ clock: Clock }>, config: Config): Promise<Check[]> {
  if (!reachesStore(config)) return []
  const { snapshotSessions: sessions } = config
  if (!sessions)
    return [
      warning(
        name,
        'all hosts share one key of the snapshot store; a compromised host can overwrite the snapshots of every tenant',
        'set TENANTRY_SNAPSHOT_SESSIONS_ENDPOINT, so that each command gets a session for one tenant (docs/snapshots.md)',
      ),
    ]
  try {
    assertSnapshotsConfigured(config)
    await agentRepository({ clock, fetch: settlingFetch }, config, testTenant)
    return [
      ending(config, sessions) ?? passed(name, `from ${new URL(sessions.endpoint).origin}, per tenant, valid for ${sessions.hours} h each`),
    ]
  } catch (error) {
    if (!isProblem(error)) throw error
    return [failed(name, error.message, 'correct the settings or the permissions of the key; until then snapshots fail')]
  }
}

/** A command fails when its session expires. */
function ending({ snapshots: { deadlineMs } }: Config, { hours }: NonNullable<Config['snapshotSessions']>): Check | undefined {
  if (hours * hourMs >= deadlineMs) return undefined
  return warning(
    name,
    `sessions expire after ${hours} h, and one snapshot or restore may take ${Math.round((10 * deadlineMs) / hourMs) / 10} h: longer commands fail`,
    'raise TENANTRY_SNAPSHOT_SESSIONS_HOURS, or lower TENANTRY_SNAPSHOTS_DEADLINE_MS',
  )
}
