import { makeMailer } from '../mail/index.ts'
import { approvedModule } from '../modules/index.ts'
import type { BillingDeps, paymentsFeature } from '../payments/index.ts'
import { changeTenant } from '../tenants/index.ts'
import type { Deps } from './deps.ts'

/** Modules are priced by the store, and tenants are changed as operators do. */
export function billingDeps(deps: Deps): BillingDeps & Pick<Parameters<NonNullable<typeof paymentsFeature.routes>>[0], 'changeTenant'> {
  const { clock, config, boxes } = deps
  const { currency, transferPayouts, automaticTax } = config.payments
  return {
    ...{ ...deps, currency, transferPayouts, automaticTax, baseUrl: config.baseUrl, mailer: makeMailer(clock, config) },
    pricedModule: async (db, { moduleId, version }) => {
      const found = await approvedModule(db, moduleId, version)
      if (!found) return undefined
      const { name, billing } = found.manifest
      const price = billing && { cents: Math.round(billing.monthlyPrice * 100), currency: billing.currency.toLowerCase() }
      return { name, developerId: found.developerId, price }
    },
    changeTenant: (actor, change) => changeTenant(boxes, actor, change),
  }
}
