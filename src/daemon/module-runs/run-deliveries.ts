import { isoNow } from '../../core/kit/index.ts'
import { listenForCommits } from '../db/index.ts'
import type { Loop } from '../feature/index.ts'
import { installationsBehind } from '../modules/index.ts'
import { deliverTenant, runsHere } from './deliver-events.ts'
import type { ModuleRunsDeps } from './deps.ts'
import { Turns } from './turns.ts'

type Deps = Omit<ModuleRunsDeps, 'callService'>

/** Commits notify; polling finds what was not notified and attempts that are due. */
const pollMs = 1_000
const reconnectMs = 5_000

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

/** Delivers events until the daemon drains; runs that are not done then are repeated by another replica. */
export const runDeliveries =
  (deps: Deps): Loop =>
  async (signal) => {
    const deliver = (tenantId: string) =>
      deliverTenant(deps, tenantId, signal).catch((err) => {
        deps.log.warn({ err, tenantId }, 'events were not delivered to modules; retrying')
        return false
      })
    const turns = new Turns(deps.clock, deliver, signal)
    await Promise.all([poll(deps, turns, signal), listen(deps, turns, signal)])
    await turns.idle()
    await Promise.all([deps.sandbox.close(), deps.migrations.close()])
  }

async function poll(deps: Deps, turns: Turns, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const tenants = await tenantsBehind(deps).catch((err): string[] => {
      deps.log.warn({ err }, 'finding events for modules failed; retrying')
      return []
    })
    for (const tenantId of tenants) turns.notify(tenantId)
    await deps.clock.sleep(pollMs, signal)
  }
}

async function listen({ db, clock, log }: Deps, turns: Turns, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const hearing = await listenForCommits(db, (topic) => topic.startsWith('tenant:') && turns.notify(topic.slice('tenant:'.length)))
      await Promise.race([hearing.ended, aborted(signal)])
      await hearing.close()
    } catch (err) {
      log.warn({ err }, 'event notifications unavailable for modules; polling every second')
    }
    await clock.sleep(reconnectMs, signal)
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
