// Services of type B modules: operators set their address; events, life-cycle messages and requests of users reach them.
// Decides what is sent, when it is sent again, and what of an answer is accepted. It never sends a token or cookie of the platform.
// It changes no installation but its confirmation by the service.
import { pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import { newestFirst } from '../../db/index.ts'
import './module-services.tables.ts'
import { moduleServicesContract } from '../../../core/module-services/index.ts'
import { feature } from '../../feature/index.ts'
import { serveContract } from '../../http/index.ts'
import { deliveryLoop } from './deliver-events.ts'
import type { ServicesDeps } from './deps.ts'
import { callHandler, callTopic } from './life-cycle.ts'
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

type Page = Readonly<{ id: string; limit: number; cursor?: string | undefined }>

/** Events that a service did not take within 24 hours, of all tenants, newest first. */
async function listDeadLetters({ db }: Pick<ServicesDeps, 'db'>, { id, limit, cursor }: Page) {
  const query = db
    .selectFrom('module_dead_letters')
    .select(['id', 'tenant_id', 'seq', 'event_type', 'attempts', 'error', 'created_at'])
    .where('module_id', '=', id)
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const rows = await newestFirst(query, { after, limit: limit + 1 }).execute()
  const letters = rows.map((row) => ({
    ...{ id: row.id, tenant: row.tenant_id, seq: Number(row.seq), eventType: row.event_type },
    ...{ attempts: row.attempts, error: row.error, createdAt: row.created_at },
  }))
  const { page, nextCursor } = pageOf(letters, limit, pageEnd)
  return { deadLetters: page, nextCursor }
}
