import { idsOf, isModuleEvent, type ModuleEventPayload, streamTypeOf } from '../../core/events/index.ts'
import type { ModuleManifest } from '../../core/modules/index.ts'
import type { DbOrTx, StoredEvent } from '../db/index.ts'
import type { ServiceInstallation } from '../modules/index.ts'
import { findSpace } from '../spaces/index.ts'

type Heard = Readonly<{ installation: ServiceInstallation; manifest: ModuleManifest; event: StoredEvent }>

/** True if the module subscribes to the event and may hear it: one of a private or deleted space only with `spaces:read`. */
export async function hears(db: DbOrTx, { installation, manifest, event }: Heard): Promise<boolean> {
  const { tenantId, permissions } = installation
  if (!permissions.includes('events:subscribe') || !manifest.events.subscribes.includes(event.eventType)) return false
  if (streamTypeOf(event.eventType) === undefined) return false
  if (permissions.includes('spaces:read')) return true
  for (const spaceId of spacesOf(event)) {
    const space = await findSpace(db, { tenantId, spaceId })
    if (!space || space.visibility === 'PRIVATE') return false
  }
  return true
}

/** The spaces that an event is about, or whose members hear it. */
function spacesOf({ payload, audience }: StoredEvent): readonly string[] {
  const { spaceId } = payload as { spaceId?: unknown }
  const named = typeof spaceId === 'string' ? [spaceId] : []
  return audience === null || audience === 'tenant' ? named : [...named, ...(audience.spaces ?? [])]
}

/** Ids of an event of the platform; what another module sent in one of its own. */
export const shownPayload = ({ eventType, payload }: StoredEvent): unknown =>
  isModuleEvent(eventType) ? (payload as ModuleEventPayload).payload : idsOf(eventType, payload)
