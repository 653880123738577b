// Support access of operators to the boards of a tenant: granted by the tenant for 24 hours, revoked by it, and audited at each use.
// Whether content needs it is decided by the feature that has the content.
import './support.tables.ts'
import { supportContract } from '../../core/support/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { grantSupportAccess, revokeSupportAccess, type SupportDeps, showSupportAccess } from './support-access.ts'

export { useSupportAccess } from './support-access.ts'

export const supportFeature = feature<SupportDeps>({
  name: 'support',
  routes: (deps) =>
    serveContract(supportContract, {
      showSupportAccess: ({ actor }) => showSupportAccess(deps, actor),
      grantSupportAccess: ({ actor }) => grantSupportAccess(deps, actor),
      revokeSupportAccess: async ({ actor }) => {
        await revokeSupportAccess(deps, actor)
        return undefined
      },
    }),
})
