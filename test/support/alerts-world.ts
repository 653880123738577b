import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewAlert } from '../../src/core/alerts/index.ts'
import { type AdminActor, manualClock } from '../../src/core/kit/index.ts'
import { alertJobs, channelsOf, makeSender, raiseAlert } from '../../src/daemon/alerts/index.ts'
import type { Config } from '../../src/daemon/config/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { makeMailer } from '../../src/daemon/mail/index.ts'
import { updateFailed } from '../../src/daemon/rollouts/alerts.ts'
import { drainJobs } from '../../src/daemon/work/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { stuckFence } from './alerts.ts'
import { webhookSecret } from './webhook-server.ts'

// Alerts over a real database, sent over real SMTP and HTTP; the test advances time.

export const anna: AdminActor = { kind: 'admin', accountId: 'acc_1', name: 'anna', role: 'operator', sessionId: 's_1' }
export const stuck = stuckFence('north')
export const restored = (attempt: number): NewAlert =>
  updateFailed('rolled_back', { rolloutId: 'ro_1', slug: 'north', attempt, error: { code: 'PROBE_FAILED', message: 'no event came back' } })

type Settings = Config['alerts']
type Given = Partial<Pick<Settings, 'channels' | 'rules'>> &
  Readonly<{ timeZone?: string; smtp?: string; mailTo?: readonly string[]; webhook?: string }>

export async function alertsWorld(db: Db, { smtp, mailTo = [], webhook, channels = [], rules = {}, timeZone = 'UTC' }: Given) {
  const clock = manualClock()
  const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-alerts-'))
  const settings = {
    mailTo: [...mailTo],
    channels,
    rules,
    repeatAfterMs: 3_600_000,
    ...(webhook ? { webhook: { url: webhook, secret: webhookSecret } } : {}),
  }
  const mailer = makeMailer(clock, { dataDir, mail: { from: 'tenantry@school.example', ...(smtp ? { smtp } : {}) } })
  const send = makeSender({ clock, mailer, daemonUrl: 'https://tenantry.example', settings })
  const deps = { db, clock, channels: channelsOf(settings, timeZone), repeatAfterMs: settings.repeatAfterMs, send }
  const jobDeps = { db, clock, log: silentLogger(), handlers: alertJobs(deps) }
  /** One pass of a replica, which runs every second. */
  const drain = (signal?: AbortSignal) => drainJobs(jobDeps, signal)
  /** Runs until no job is queued or due for a retry. */
  const drainAll = async () => {
    for (let round = 0; round < 20; round++) {
      await drain()
      await clock.advance(3_600_000)
    }
  }
  const raise = (alert: NewAlert) => db.transaction().execute((tx) => raiseAlert(tx, clock, alert))
  return { deps, clock, dataDir, jobDeps, drain, drainAll, raise }
}
