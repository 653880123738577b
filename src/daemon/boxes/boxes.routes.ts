import { boxesContract } from '../../core/boxes/index.ts'
import { type Served, serve } from '../http/index.ts'
import { adoptBox } from './adopt-box.ts'
import { applyManifest, compareManifest, type ManifestNeeds } from './apply-manifest.ts'
import { checkBox, scanBoxes } from './ask-boxes.ts'
import { type DriftNeeds, detectDrift } from './detect-drift.ts'
import { lifeRoutes } from './life/life.routes.ts'
import type { LifeNeeds } from './life/needs.ts'
import { currentManifest, manifestsBefore } from './manifests.repo.ts'
import { markCanary } from './mark-canary.ts'
import { type ProvisionNeeds, provisionBox } from './provision-box.ts'
import { describeBox, listBoxes, showBox } from './show-boxes.ts'

export type BoxesNeeds = ProvisionNeeds & DriftNeeds & ManifestNeeds & LifeNeeds

export const boxesRoutes = (needs: BoxesNeeds): Served[] => [
  ...lifeRoutes(needs),
  serve(boxesContract.listBoxes, ({ query }) => listBoxes(needs, query)),
  serve(boxesContract.showBox, ({ params }) => showBox(needs, params.slug)),
  serve(boxesContract.provisionBox, ({ actor, body }) => provisionBox(needs, actor, body)),
  serve(boxesContract.adoptBox, ({ actor, body }) => adoptBox(needs, actor, body)),
  serve(boxesContract.scanBoxes, ({ actor, body }) => scanBoxes(needs, actor, body)),
  serve(boxesContract.checkBox, ({ actor, params }) => checkBox(needs, actor, params.slug)),
  serve(boxesContract.changeBox, async ({ actor, params, body }) =>
    describeBox(needs, needs.db, await markCanary(needs, actor, { ...params, ...body })),
  ),
  serve(boxesContract.showManifest, () => currentManifest(needs.db)),
  serve(boxesContract.diffManifest, async ({ body }) => copy(await compareManifest(needs, body.manifest))),
  serve(boxesContract.applyManifest, async ({ actor, body }) => {
    const applied = await applyManifest(needs, actor, body.manifest)
    // The stored drift should not speak of the manifest before; if the daemon dies here the hourly job does it.
    if (applied.changed) await detectDrift(needs)
    return copy(applied)
  }),
  serve(boxesContract.listManifestRevisions, async ({ query: { cursor, limit } }) => {
    const found = await manifestsBefore(needs.db, { before: cursor, limit: limit + 1 })
    const revisions = found.slice(0, limit)
    return { revisions, nextCursor: found.length > limit ? String(revisions.at(-1)?.revision) : null }
  }),
]

const copy = <Answer extends { changes: readonly unknown[] }>(
  answer: Answer,
): Omit<Answer, 'changes'> & { changes: Answer['changes'][number][] } => ({
  ...answer,
  changes: [...answer.changes],
})
