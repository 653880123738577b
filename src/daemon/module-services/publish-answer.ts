import type { Audience, ModuleEventType } from '../../core/events/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Publication } from '../../core/module-services/index.ts'
import { type ModuleManifest, maxPayloadBytes } from '../../core/modules/index.ts'
import type { Tx } from '../db/index.ts'
import { recordModuleEvents } from '../events/index.ts'
import type { ServiceInstallation } from '../modules/index.ts'
import { findSpace } from '../spaces/index.ts'

type Answered = Readonly<{
  installation: ServiceInstallation
  manifest: ModuleManifest
  runId: string
  depth: number
  publications: readonly Publication[]
}>

/**
 * Stores what a service publishes in its answer, all or nothing. Returns why nothing was stored. The event that it answered stays delivered: the
 * answer to a repetition would be the same.
 */
export async function publishAnswer(clock: Clock, tx: Tx, answered: Answered): Promise<string | undefined> {
  const { installation, manifest, runId, depth, publications } = answered
  if (publications.length === 0) return undefined
  const { tenantId, moduleId, permissions } = installation
  if (!permissions.includes('events:publish')) return 'publish needs the permission events:publish, which is not approved'
  const declared = new Map(manifest.events.publishes.map(({ name, notify }) => [name, notify]))
  for (const { name, payload, spaceId } of publications) {
    if (!declared.has(name)) return `publish: the manifest does not declare the event ${name}`
    if (Buffer.byteLength(JSON.stringify(payload)) > maxPayloadBytes) return `publish: the payload of ${name} has more than 16 KB`
    if (spaceId !== undefined && !(await findSpace(tx, { tenantId, spaceId }))) return `publish: there is no space ${spaceId}`
  }
  // Clients read the module again after the first event that they hear; more of them in the same answer change nothing.
  const firstHeard = publications.findIndex(({ name }) => declared.get(name))
  const events = publications.map(({ name, payload, spaceId }, n) => {
    const audience: Audience = spaceId === undefined ? { capability: 'manageModules' } : { spaces: [spaceId] }
    return {
      type: `module.${moduleId}.${name}` as ModuleEventType,
      audience: n === firstHeard ? audience : null,
      payload: { moduleId, spaceId: spaceId ?? null, runId, depth, payload },
    }
  })
  await recordModuleEvents(tx, clock, { tenantId, moduleId, events })
  return undefined
}
