import { type Clock, type ExitCode, isProblem } from '../../core/kit/index.ts'
import { type Check, failed, type Globals, type Machine, passed, printChecks } from '../../node/command-line.ts'
import { companyLogin } from '../app/index.ts'

import type { Config } from '../config/index.ts'
import { databaseChecks } from './doctor-database.ts'
import { redisCheck } from './doctor-fleet.ts'
import { machineChecks } from './doctor-machine.ts'
import { prometheusCheck } from './doctor-prometheus.ts'
import { settingsOf } from './installation.ts'

/** Checks everything the daemon depends on; read-only. Exit code 1 when a check failed. */
export async function doctor(machine: Machine, options: Globals): Promise<ExitCode> {
  return printChecks(machine, options, { checks: await allChecks(machine, options), nameColumns: 16 })
}

async function allChecks(machine: Machine, options: Globals): Promise<Check[]> {
  let config: Config
  try {
    config = settingsOf(machine, options)
  } catch (error) {
    if (!isProblem(error)) throw error
    return [failed('settings', error.message, '`tenantryd check-config` lists every invalid setting')]
  }
  const source = options.config ? `${options.config} and environment` : 'from environment and defaults'
  return [
    passed('settings', `${source}; ${config.production ? 'production' : 'development (loopback only)'}, at ${config.baseUrl}`),
    ...(await machineChecks(machine, config, options)),
    ...(await databaseChecks(machine, config)),
    ...(await companyLoginCheck(config, machine.clock)),
    ...(await prometheusCheck(config)),
    ...(await redisCheck(machine.clock, config.redis)),
  ]
}

/** The provider of the company account, where there is one: whether it answers as its issuer. */
async function companyLoginCheck(config: Config, clock: Clock): Promise<Check[]> {
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
