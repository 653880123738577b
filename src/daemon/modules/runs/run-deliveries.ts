import { isoNow } from '../../../core/kit/index.ts'
import type { Loop } from '../../feature/index.ts'
import { installationsBehind } from '../listeners.repo.ts'
import { deliverTenant, runsHere } from './deliver-events.ts'
import type { ModuleRunsDeps } from './deps.ts'
import { Turns } from './turns.ts'

type Deps = Omit<ModuleRunsDeps, 'callService'>

/** Delivers what is due now, of all tenants. */
export async function deliverAll(deps: Deps): Promise<void> {
  for (const tenantId of await tenantsBehind(deps)) while (await deliverTenant(deps, tenantId));
}

/** Without those whose modules all have services: while a service is away, its tenants are behind. */
export async function tenantsBehind(deps: Deps): Promise<string[]> {
  const behind = await installationsBehind(deps.db, isoNow(deps.clock))
  const [tenants, types] = [new Set<string>(), new Map<string, boolean>()]
  for (const { tenantId, ...version } of behind) {
    const key = `${version.moduleId}@${version.version}`
    const isHere = types.get(key) ?? (await runsHere(deps, version))
    types.set(key, isHere)
    if (isHere) tenants.add(tenantId)
  }
  return [...tenants]
}

/** Delivers events; runs that are not done when the daemon stops are repeated by another replica. */
export function deliveryLoop(deps: Deps): Loop {
  const stopping = new AbortController()
  const deliver = (tenantId: string) =>
    deliverTenant(deps, tenantId, stopping.signal).catch((err) => {
      deps.log.warn({ err, tenantId }, 'events were not delivered to modules; retrying')
      return false
    })
  const turns = new Turns(deps.clock, deliver, stopping.signal)
  return {
    name: 'deliver events to modules',
    everyMs: 1000,
    onCommit: (topic) => topic.startsWith('tenant:') && turns.notify(topic.slice('tenant:'.length)),
    run: async () => {
      for (const tenantId of await tenantsBehind(deps)) turns.notify(tenantId)
    },
    atEnd: async () => {
      stopping.abort()
      await turns.idle()
      await Promise.all([deps.sandbox.close(), deps.migrations.close()])
    },
  }
}
