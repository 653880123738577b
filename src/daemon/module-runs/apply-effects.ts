import type { Audience } from '../../core/events/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { type ModuleManifest, maxDataBytes, maxPublishesPerMinute, type RunEffects } from '../../core/modules/index.ts'
import type { Tx } from '../db/index.ts'
import { recordModuleEvents } from '../events/index.ts'
import {
  addDataBytes,
  findPublishing,
  type InstallationRecord,
  isUnchanged,
  lockRunnable,
  type NewRun,
  storePublishing,
  writeDocuments,
} from '../modules/index.ts'
import { findSpace } from '../spaces/index.ts'
import type { ModuleRunsDeps } from './deps.ts'

type Deps = Pick<ModuleRunsDeps, 'clock' | 'random'>

/** A run that commits nothing, because something changed since it began. */
export class Outdated extends Error {
  readonly outcome: 'conflict' | 'stale' | 'lost'
  constructor(outcome: Outdated['outcome'], message: string) {
    super(message)
    this.outcome = outcome
  }
}

type Applied = Readonly<{ installation: InstallationRecord; effects: RunEffects }>

/** Locks the installation. Throws Outdated unless it is the one of the run, and everything that the run read is as it was. */
export async function assertCurrent({ clock }: Deps, tx: Tx, { installation, effects }: Applied): Promise<void> {
  const locked = await lockRunnable(tx, clock, installation)
  if (!locked) throw new Outdated('stale', 'the installation changed while the run was active')
  if (!(await isUnchanged(tx, placeOf(installation), effects))) throw new Outdated('conflict', 'documents that the run read were changed')
  const { tenantId } = installation
  const spaceIds = new Set([...effects.files, ...effects.published].flatMap(({ spaceId }) => (spaceId === undefined ? [] : [spaceId])))
  for (const spaceId of spaceIds)
    if (!(await findSpace(tx, { tenantId, spaceId }))) throw new Outdated('conflict', `the space ${spaceId} was deleted`)
}

const placeOf = ({ tenantId, moduleId, dataGeneration: generation }: InstallationRecord) => ({ tenantId, moduleId, generation })

/** A version that differs from every earlier one of the document, also if it was deleted in between. */
const newVersion = ({ random }: Deps): number => 1 + (Buffer.from(random.bytes(4)).readUInt32BE() >>> 2)

export async function applyDocuments(deps: Deps, tx: Tx, { installation, effects }: Applied): Promise<void> {
  const grown = await writeDocuments(tx, placeOf(installation), { changes: effects.documents, version: newVersion(deps) })
  if (grown !== 0 && (await addDataBytes(tx, installation, grown)) > maxDataBytes && grown > 0)
    throw new Outdated('conflict', 'the module has more than 50 MB of documents')
}

type Published = Readonly<{ manifest: ModuleManifest; effects: RunEffects; run: NewRun }>

/**
 * Stores the published events last, because their numbers lock the stream of the tenant. Clients hear those that the manifest marks, at most one in
 * a second.
 */
export async function publishEvents({ clock }: Deps, tx: Tx, { manifest, effects, run }: Published): Promise<void> {
  if (effects.published.length === 0) return
  const { tenantId, moduleId, id: runId, depth } = run
  const now = isoNow(clock)
  const [minute, second] = [now.slice(0, 16), now.slice(0, 19)]
  const before = await findPublishing(tx, run)
  const published = (before?.minute === minute ? before.published : 0) + effects.published.length
  if (published > maxPublishesPerMinute)
    throw new Outdated('conflict', `the module published ${maxPublishesPerMinute} events within a minute`)
  const notified = new Set(manifest.events.publishes.flatMap(({ name, notify }) => (notify ? [name] : [])))
  let notifiedAt = before?.notifiedAt ?? null
  const events = effects.published.map(({ name, payload, spaceId }) => {
    const isHeard = notified.has(name) && notifiedAt !== second
    if (isHeard) notifiedAt = second
    const audience: Audience = spaceId === undefined ? { capability: 'manageModules' } : { spaces: [spaceId] }
    return {
      ...({ type: `module.${moduleId}.${name}`, audience: isHeard ? audience : null } as const),
      payload: { moduleId, spaceId: spaceId ?? null, runId, depth, payload },
    }
  })
  await storePublishing(tx, run, { minute, published, notifiedAt })
  await recordModuleEvents(tx, clock, { tenantId, moduleId, events })
}
