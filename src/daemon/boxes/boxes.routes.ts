import { boxesContract } from '../../core/boxes/index.ts'
import { type Served, serve } from '../http/index.ts'
import { adoptBox } from './adopt-box.ts'
import { applyManifest, compareManifest, type ManifestDeps } from './apply-manifest.ts'
import { checkBox, scanBoxes } from './ask-boxes.ts'
import { type DriftDeps, detectDrift } from './detect-drift.ts'
import type { LifeDeps } from './life/deps.ts'
import { lifeRoutes } from './life/life.routes.ts'
import { currentManifest, manifestsBefore } from './manifests.repo.ts'
import { markCanary } from './mark-canary.ts'
import { type ProvisionDeps, provisionBox } from './provision-box.ts'
import { describeBox, listBoxes, showBox } from './show-boxes.ts'

export type BoxesDeps = ProvisionDeps & DriftDeps & ManifestDeps & LifeDeps

export const boxesRoutes = (deps: BoxesDeps): Served[] => [
  ...lifeRoutes(deps),
  serve(boxesContract.listBoxes, ({ query }) => listBoxes(deps, query)),
  serve(boxesContract.showBox, ({ params }) => showBox(deps, params.slug)),
  serve(boxesContract.provisionBox, ({ actor, body }) => provisionBox(deps, actor, body)),
  serve(boxesContract.adoptBox, ({ actor, body }) => adoptBox(deps, actor, body)),
  serve(boxesContract.scanBoxes, ({ actor, body }) => scanBoxes(deps, actor, body)),
  serve(boxesContract.checkBox, ({ actor, params }) => checkBox(deps, actor, params.slug)),
  serve(boxesContract.changeBox, async ({ actor, params, body }) =>
    describeBox(deps, deps.db, await markCanary(deps, actor, { ...params, ...body })),
  ),
  serve(boxesContract.showManifest, () => currentManifest(deps.db)),
  serve(boxesContract.diffManifest, async ({ body }) => copy(await compareManifest(deps, body.manifest))),
  serve(boxesContract.applyManifest, async ({ actor, body }) => {
    const applied = await applyManifest(deps, actor, body.manifest)
    // The stored drift should not speak of the manifest before; if the daemon dies here the hourly job does it.
    if (applied.changed) await detectDrift(deps)
    return copy(applied)
  }),
  serve(boxesContract.listManifestRevisions, async ({ query: { cursor, limit } }) => {
    const found = await manifestsBefore(deps.db, { before: cursor, limit: limit + 1 })
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
