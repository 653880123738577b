import type { z } from 'zod'
import { type boxesContract, notForeign } from '../../core/boxes/index.ts'
import { type Actor, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueCommand } from '../hosts/index.ts'
import { existingBox } from './boxes.repo.ts'
import { currentManifest } from './manifests.ts'
import { imagesOf } from './provision-box.ts'
import { assertHostOnline, assertLive, type QueryDeps } from './query-boxes.ts'

/** Sizes of media and objects are read file by file. */
const deadlineMs = 30 * 60_000

type Input = Readonly<{ slug: string }> & z.output<typeof boxesContract.planImport.body>

/** Asks the agent what the import of an observed stack would do. Throws NOT_FOUND, CONFLICT for a box of the template, HOST_OFFLINE. */
export async function planImport(deps: QueryDeps, actor: Actor, { slug, drop }: Input): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const box = await existingBox(db, slug)
  assertLive(box)
  if (box.folder === null) throw problem('CONFLICT', notForeign(slug))
  await assertHostOnline(deps, db, box)
  const commandId = newId(random, 'cmd')
  await db.transaction().execute(async (tx) => {
    const { manifest } = await currentManifest(tx)
    const { id: boxId, hostId, ownershipEpoch, chatDomain, tier } = box
    const { synapse, postgres } = manifest.tiers[tier]
    const images = imagesOf(manifest, box, {})
    const payload = { slug, boxId, ownershipEpoch, chatDomain, versions: { synapse, postgres }, drop, images }
    await enqueueCommand(tx, clock, { id: commandId, hostId, boxId, kind: 'tenant-box.survey_import', payload, deadlineMs })
    await recordAudit(tx, clock, { actor, action: 'box.import.asked', subject: slug, data: { commandId, drop } })
  })
  bus.queued(box.hostId)
  return { commandId }
}
