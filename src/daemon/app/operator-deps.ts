import type { Checkpoint } from '../../core/audit/index.ts'
import { type CompanyLogin, consoleAccess, openLoginProvider } from '../admin/index.ts'
import { channelsOf, closeAuditBroken, makeSender, raiseAuditBroken } from '../alerts/index.ts'
import { openSigningKeys, type Revocations } from '../auth/index.ts'
import { makeMailer } from '../mail/index.ts'
import { publishSignedHead } from '../rollouts/index.ts'
import type { BaseDeps } from './base-deps.ts'

type Shared = BaseDeps & Readonly<{ revocations: Revocations }>

/** Dependencies of the features that serve operators. */
export const operatorDeps = async (deps: Shared) => ({
  admin: {
    ...deps,
    keys: await openSigningKeys(deps, 'admin'),
    totpRequired: deps.config.totpRequired,
    console: consoleAccess(deps.config.baseUrl),
    baseUrl: deps.config.baseUrl,
    company: companyLogin(deps),
  },
  alerts: alertsDeps(deps),
  audit: auditDeps(deps),
})

function companyLogin({ config, clock }: BaseDeps): CompanyLogin | undefined {
  const { issuer, clientId, clientSecret, name, scopes, nameClaim, groupsClaim, roles, secondFactor } = config.admin.oidc
  if (issuer === undefined || clientId === undefined) return undefined
  const redirectUri = `${config.baseUrl}/console/login/provider`
  const settings = { issuer, clientId, clientSecret, name, scopes, nameClaim, groupsClaim, redirectUri }
  return { provider: openLoginProvider(settings, () => clock.monotonicMs()), nameClaim, groupsClaim, roles, secondFactor }
}

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
