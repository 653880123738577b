import { egressRules } from '../../node/index.ts'
import { openModuleTokens } from '../auth/index.ts'
import { openConnections, openProxy, openServiceCalls, type ServicesDeps } from '../module-services/index.ts'
import { approvedModule } from '../store/index.ts'
import type { BaseDeps } from './base-deps.ts'

type Shared = BaseDeps & Pick<ServicesDeps, 'owner' | 'counts'>

/** Dependencies of the feature that reaches services of modules. */
export function serviceDeps(deps: Shared): ServicesDeps {
  const { config, draining } = deps
  const connections = openConnections(egressRules(config.egress.allow))
  draining.addEventListener('abort', connections.close)
  return {
    ...deps,
    ...{
      baseUrl: config.baseUrl,
      call: openServiceCalls(connections),
      proxy: openProxy(connections),
      signToken: openModuleTokens(deps, config.baseUrl),
    },
    manifestOf: async (db, moduleId, version) => (await approvedModule(db, moduleId, version))?.manifest,
  }
}
