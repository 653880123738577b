import type { Clock } from '../../core/kit/index.ts'
import { type Check, failed, passed } from '../../node/command-line.ts'
import { companyLogin } from '../app/index.ts'
import type { Config } from '../config/index.ts'

/** The provider of the company account, where there is one: whether it answers as its issuer. */
export async function companyLoginCheck(config: Config, clock: Clock): Promise<Check[]> {
  const company = companyLogin(config, clock)
  if (!company) return []
  const attempt = { state: 'doctor', nonce: 'doctor', verifier: 'doctor', maxAgeSeconds: 60 }
  try {
    await company.provider.addressOf(attempt, false)
    return [passed('company account', `${config.admin.oidc.issuer} answers; redirect address ${config.baseUrl}/console/login/provider`)]
  } catch (error) {
    return [failed('company account', (error as Error).message, 'check TENANTRY_ADMIN_OIDC_ISSUER and that the provider runs')]
  }
}
