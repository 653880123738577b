import { maxDataBytes, type RunEffects } from '../../../core/modules/index.ts'
import type { Tx } from '../../db/index.ts'
import { findSpace } from '../../spaces/index.ts'
import { isUnchanged, writeDocuments } from '../documents.repo.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import { addDataBytes } from '../listeners.repo.ts'
import { lockRunnable } from '../runnable.ts'
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
