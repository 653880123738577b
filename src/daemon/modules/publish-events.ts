import type { Audience } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { type ModuleManifest, maxPublishesPerMinute } from '../../core/modules/index.ts'
import type { Tx } from '../db/index.ts'
import { recordModuleEvents } from '../events/index.ts'
import { findPublishing, storePublishing } from './publishing.repo.ts'

/** Events that a run, or the answer of a service, published. `depth`: of the run. */
type Publications = Readonly<{
  run: Readonly<{ id: string; tenantId: string; moduleId: string; depth: number }>
  manifest: ModuleManifest
  published: readonly Readonly<{ name: string; payload: unknown; spaceId?: string | undefined }>[]
}>

/**
 * Stores published events. Call it last, with the installation locked: their numbers lock the stream of the tenant. Clients receive those that the
 * manifest marks, at most one in a second. Returns why nothing was stored: the module published too many in this minute.
 */
export async function publishModuleEvents(clock: Clock, tx: Tx, { run, manifest, published }: Publications): Promise<string | undefined> {
  if (published.length === 0) return undefined
  const { tenantId, moduleId, id: runId, depth } = run
  const now = isoNow(clock)
  const [minute, second] = [now.slice(0, 16), now.slice(0, 19)]
  const before = await findPublishing(tx, run)
  const count = (before?.minute === minute ? before.published : 0) + published.length
  if (count > maxPublishesPerMinute) return `the module published ${maxPublishesPerMinute} events within a minute`
  const notified = new Set(manifest.events.publishes.flatMap(({ name, notify }) => (notify ? [name] : [])))
  let notifiedAt = before?.notifiedAt ?? null
  const events = published.map(({ name, payload, spaceId }) => {
    const isHeard = notified.has(name) && notifiedAt !== second
    if (isHeard) notifiedAt = second
    const audience: Audience = spaceId === undefined ? { capability: 'manageModules' } : { spaces: [spaceId] }
    return {
      ...({ type: `module.${moduleId}.${name}`, audience: isHeard ? audience : null } as const),
      payload: { moduleId, spaceId: spaceId ?? null, runId, depth, payload },
    }
  })
  await storePublishing(tx, run, { minute, published: count, notifiedAt })
  await recordModuleEvents(tx, clock, { tenantId, moduleId, events })
  return undefined
}
