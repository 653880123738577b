import type { Checkpoint } from '../../core/audit/index.ts'
import type { AdminDeps } from '../admin/index.ts'
import { channelsOf, closeAuditBroken, makeSender, raiseAuditBroken } from '../alerts/index.ts'
import { openSigningKeys, watchRevocations } from '../auth/index.ts'
import { makeMailer } from '../mail/index.ts'
import { publishSignedHead } from '../rollouts/index.ts'
import type { FeatureDeps } from './wire-needs.ts'

/** What operators' accounts stand on. */
export async function adminRoom(deps: FeatureDeps): Promise<AdminDeps> {
  const { config, db, clock, random, keyring, draining } = deps
  const revocations = await watchRevocations(deps, draining)
  return { db, clock, random, keyring, keys: await openSigningKeys(deps, 'admin'), revocations, totpRequired: config.totpRequired }
}

/** Whom alerts go to, and what carries them there. */
export const alertsRoom = ({ config, db, clock, random }: FeatureDeps) => {
  const { alerts, baseUrl } = config
  const send = makeSender({ clock, mailer: makeMailer(clock, config), daemonUrl: baseUrl, settings: alerts })
  return { db, clock, random, channels: channelsOf(alerts), repeatAfterMs: alerts.repeatAfterMs, send }
}

/** Who hears of the heads that the audit log is held to. */
export const auditRoom = (deps: FeatureDeps) => ({
  ...{ db: deps.db, clock: deps.clock, log: deps.log, dataDir: deps.config.dataDir },
  signed: (head: Checkpoint) => publishSignedHead(deps, head),
  broken: (facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>) => raiseAuditBroken(deps, facts),
  whole: (chain: string) => closeAuditBroken(deps, chain),
})
