import { alertKey } from '../../core/alerts/index.ts'
import { idsOf, isModuleEvent, type ModuleEventPayload, streamTypeOf } from '../../core/events/index.ts'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import type { ModuleManifest } from '../../core/modules/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import type { DbOrTx, StoredEvent, Tx } from '../db/index.ts'
import { isPrivateSpace } from '../spaces/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { InstallationRecord } from './installations.repo.ts'
import { skipTo } from './positions.repo.ts'

type Heard = Readonly<{ installation: InstallationRecord; manifest: ModuleManifest; page: readonly StoredEvent[] }>

/** The first event that the module subscribes to and may receive: one of a private or deleted space only with `spaces:read`. */
export async function firstHeard(db: DbOrTx, { installation, manifest, page }: Heard): Promise<StoredEvent | undefined> {
  const { tenantId, permissions } = installation
  const types: ReadonlySet<string> = new Set(permissions.includes('events:subscribe') ? manifest.events.subscribes : [])
  for (const event of page) {
    if (!types.has(event.eventType) || streamTypeOf(event.eventType) === undefined) continue
    if (permissions.includes('spaces:read')) return event
    const isHidden = await Promise.all(spacesOfEvent(event).map((spaceId) => isPrivateSpace(db, { tenantId, spaceId })))
    if (!isHidden.includes(true)) return event
  }
  return undefined
}

/** The spaces that an event is about, or whose members receive it. */
function spacesOfEvent({ payload, audience }: StoredEvent): readonly string[] {
  const { spaceId } = payload as { spaceId?: unknown }
  const named = typeof spaceId === 'string' ? [spaceId] : []
  return audience === null || audience === 'tenant' ? named : [...named, ...(audience.spaces ?? []), ...(audience.within ?? [])]
}

/** Ids of an event of the platform; what another module sent in one of its own. */
export const shownPayload = ({ eventType, payload }: StoredEvent): unknown =>
  isModuleEvent(eventType) ? (payload as ModuleEventPayload).payload : idsOf(eventType, payload)

const maxBehind = 10_000
const maxAgeMs = 7 * 86_400_000

type Behind = Readonly<{ after: number; oldest: StoredEvent | undefined; head: number }>

/**
 * The last event that an installation will not receive: it is too far behind, or retention deleted the next ones. Undefined if it misses none.
 * `after`: its position. `oldest`: the next event that is stored. `head`: the newest, read before `oldest`.
 */
export function lastSkipped(clock: Clock, { after, oldest, head }: Behind): number | undefined {
  if (!oldest || head - after > maxBehind || oldest.createdAt < isoIn(clock, -maxAgeMs)) return head
  return oldest.seq > after + 1 ? oldest.seq - 1 : undefined
}

type Skip = Readonly<{ tenantId: string; moduleId: string; from: number; to: number }>

/** The module was away too long, or too slow: it continues with new events, and an alert is raised. */
export async function skipEvents(tx: Tx, clock: Clock, { tenantId, moduleId, from, to }: Skip): Promise<void> {
  if (!(await skipTo(tx, { tenantId, moduleId }, { from, to, at: isoNow(clock) }))) return
  const slug = (await tenantById(tx, tenantId))?.slug ?? tenantId
  await raiseAlert(tx, clock, {
    kind: 'module_failed',
    key: alertKey('module_failed', `events:${slug}/${moduleId}`),
    subject: `${slug}/${moduleId}`,
    title: `${moduleId} missed events of ${slug}`,
    body:
      `${moduleId} was more than 10,000 events or 7 days behind in ${slug}. ${to - from} events were skipped, and it continues with new ones. What it ` +
      'stores may be out of date. Other modules and tenants are not affected.\n' +
      'Find out why it is slow or away; its developer knows how to bring its data up to date.',
    command: `tenantry modules health ${moduleId}`,
  })
}
