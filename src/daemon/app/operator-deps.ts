import type { Checkpoint } from '../../core/audit/index.ts'
import { consoleAccess } from '../admin/index.ts'
import { channelsOf, closeAuditBroken, makeSender, raiseAuditBroken } from '../alerts/index.ts'
import { openSigningKeys, type Revocations } from '../auth/index.ts'
import { makeMailer } from '../mail/index.ts'
import { publishSignedHead } from '../rollouts/index.ts'
import type { BaseDeps } from './base-deps.ts'
import { companyLogin } from './company-login.ts'

type Shared = BaseDeps & Readonly<{ revocations: Revocations }>

/** Dependencies of the features that serve operators. */
export const operatorDeps = async (deps: Shared) => ({
  admin: {
    ...deps,
    keys: await openSigningKeys(deps, 'admin'),
    totpRequired: deps.config.totpRequired,
    console: consoleAccess(deps.config.baseUrl),
    baseUrl: deps.config.baseUrl,
    company: companyLogin(deps.config, deps.clock),
  },
  alerts: alertsDeps(deps),
  audit: auditDeps(deps),
})

const alertsDeps = ({ config, db, clock, random }: BaseDeps) => {
  const { alerts, baseUrl, timeZone } = config
  const send = makeSender({ clock, mailer: makeMailer(clock, config), daemonUrl: baseUrl, settings: alerts })
  return { db, clock, random, channels: channelsOf(alerts, timeZone), repeatAfterMs: alerts.repeatAfterMs, send }
}

/** Each signed head also goes to its rollout; a broken chain raises an alert. */
const auditDeps = (deps: BaseDeps) => ({
  ...{ db: deps.db, clock: deps.clock, log: deps.log, dataDir: deps.config.dataDir },
  signed: (head: Checkpoint) => publishSignedHead({ ...deps, onDone: deps.config.alerts.onDone }, head),
  broken: (facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>) => raiseAuditBroken(deps, facts),
  whole: (chain: string) => closeAuditBroken(deps, chain),
})
