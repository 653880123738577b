import type { Checkpoint } from '../../core/audit/index.ts'
import type { AdminNeeds } from '../admin/index.ts'
import { channelsOf, makeSender, tellBrokenAudit, tellWholeAudit } from '../alerts/index.ts'
import { openSigningKeys, watchRevocations } from '../auth/index.ts'
import { makeMailer } from '../mail/index.ts'
import { tellHead } from '../rollouts/index.ts'
import type { WireNeeds } from './wire-needs.ts'

/** What operators' accounts stand on. */
export async function adminRoom(needs: WireNeeds): Promise<AdminNeeds> {
  const { config, db, clock, random, keyring, draining } = needs
  const revocations = await watchRevocations(needs, draining)
  return { db, clock, random, keyring, keys: await openSigningKeys(needs, 'admin'), revocations, totpRequired: config.totpRequired }
}

/** Whom alerts go to, and what carries them there. */
export const alertsRoom = ({ config, db, clock, random }: WireNeeds) => {
  const { alerts, baseUrl } = config
  const send = makeSender({ clock, mailer: makeMailer(clock, config), daemonUrl: baseUrl, settings: alerts })
  return { db, clock, random, channels: channelsOf(alerts), repeatAfterMs: alerts.repeatAfterMs, send }
}

/** Who hears of the heads that the audit log is held to. */
export const auditRoom = (needs: WireNeeds) => ({
  ...{ db: needs.db, clock: needs.clock, log: needs.log, dataDir: needs.config.dataDir },
  signed: (head: Checkpoint) => tellHead(needs, head),
  broken: (facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>) => tellBrokenAudit(needs, facts),
  whole: (chain: string) => tellWholeAudit(needs, chain),
})
