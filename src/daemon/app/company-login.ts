import type { Clock } from '../../core/kit/index.ts'
import { type CompanyLogin, openLoginProvider } from '../admin/index.ts'
import type { Config } from '../config/index.ts'

/** Logins by the company account; undefined where the settings name no provider. Asks it nothing yet. */
export function companyLogin({ baseUrl, admin: { oidc } }: Config, clock: Clock): CompanyLogin | undefined {
  const { issuer, clientId, clientSecret, name, scopes, nameClaim, groupsClaim, roles, secondFactor } = oidc
  if (issuer === undefined || clientId === undefined) return undefined
  const redirectUri = `${baseUrl}/console/login/provider`
  const settings = { issuer, clientId, clientSecret, name, scopes, nameClaim, groupsClaim, redirectUri }
  return { provider: openLoginProvider(settings, () => clock.monotonicMs()), nameClaim, groupsClaim, roles, secondFactor }
}
