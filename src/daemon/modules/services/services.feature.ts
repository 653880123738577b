// Services of type B modules: operators set their address; events, life-cycle messages and requests of users reach them.
// Decides what is sent, when it is sent again, and what of an answer is accepted. It never sends a token or cookie of the platform.
// It changes no installation but its confirmation by the service.
import './module-services.tables.ts'
import { moduleServicesContract } from '../../../core/module-services/index.ts'
import { feature } from '../../feature/index.ts'
import { serveContract } from '../../http/index.ts'
import { deliveryLoop } from './deliver-events.ts'
import type { ServicesDeps } from './deps.ts'
import { callHandler, callTopic } from './life-cycle.ts'
import { listDeadLetters } from './list-dead-letters.ts'
import { setUpstream, showUpstream } from './set-upstream.ts'

export const moduleServicesFeature = feature<ServicesDeps>({
  name: 'module-services',
  routes: (deps) =>
    serveContract(moduleServicesContract, {
      setModuleUpstream: ({ actor, params, body }) => setUpstream(deps, actor, { ...params, ...body }),
      showModuleUpstream: ({ params }) => showUpstream(deps, params.id),
      listModuleDeadLetters: ({ params, query }) => listDeadLetters(deps, { ...params, ...query }),
    }),
  jobs: (deps) => ({ [callTopic]: callHandler(deps) }),
  loops: (deps) => [deliveryLoop(deps)],
  sealed: [{ table: 'module_upstreams', column: 'sealed_secret', key: 'module_id' }],
})
