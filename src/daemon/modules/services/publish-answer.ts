import type { Failure, Publication } from '../../../core/module-services/index.ts'
import { type ModuleManifest, maxPayloadBytes, type Permission } from '../../../core/modules/index.ts'
import type { Tx } from '../../db/index.ts'
import { publishModuleEvents } from '../publish-events.ts'
import { findSpace } from '../../spaces/index.ts'
import type { ServicesDeps } from './deps.ts'

type Answered = Readonly<{
  run: Readonly<{ id: string; tenantId: string; moduleId: string; depth: number }>
  manifest: ModuleManifest
  permissions: readonly Permission[]
  published: readonly Publication[]
}>

type Refused = Pick<Failure, 'reason' | 'violation'>

/**
 * Stores what a service publishes in its answer, all or nothing. Returns why nothing was stored. The event that it answered stays delivered: the
 * answer to a repetition would be the same.
 */
export async function whyNotPublished({ clock }: Pick<ServicesDeps, 'clock'>, tx: Tx, answered: Answered): Promise<Refused | undefined> {
  const { run, manifest, permissions, published } = answered
  if (published.length === 0) return undefined
  if (!permissions.includes('events:publish'))
    return { reason: 'publish needs the permission events:publish, which is not approved', violation: 'permission' }
  const declared = new Set(manifest.events.publishes.map(({ name }) => name))
  for (const { name, payload, spaceId } of published) {
    if (!declared.has(name)) return { reason: `publish: the manifest does not declare the event ${name}` }
    if (Buffer.byteLength(JSON.stringify(payload)) > maxPayloadBytes)
      return { reason: `publish: the payload of ${name} has more than 16 KB` }
    if (spaceId !== undefined && !(await findSpace(tx, { tenantId: run.tenantId, spaceId })))
      return { reason: `publish: there is no space ${spaceId}` }
  }
  const reason = await publishModuleEvents(clock, tx, { run, manifest, published })
  return reason === undefined ? undefined : { reason: `publish: ${reason}`, violation: 'publishes' }
}
