import { egressRules } from '../../../node/index.ts'
import { openModuleTokens } from '../../auth/index.ts'
import type { Config } from '../../config/index.ts'
import { approvedModule } from '../store/approved-modules.ts'
import { openServiceCalls } from './call-service.ts'
import { openConnections } from './connections.ts'
import type { ServicesDeps } from './deps.ts'
import { openProxy } from './proxy-request.ts'

type Given = Omit<ServicesDeps, 'baseUrl' | 'call' | 'proxy' | 'signToken' | 'manifestOf'> &
  Readonly<{ config: Config; draining: AbortSignal }>

/** Dependencies of the services of type B modules. */
export function serviceDeps(deps: Given): ServicesDeps {
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
