import { boxesContract } from '../../core/boxes/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import type { Actor, Clock } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { serveContract } from '../http/index.ts'
import { adoptAgain, adoptBox } from './adopt-box.ts'
import type { BoxRecord } from './box-record.ts'
import { changeBox, existingBoxBy } from './boxes.repo.ts'
import { type DriftDeps, detectDrift } from './detect-drift.ts'
import { followLogs } from './follow-logs.ts'
import type { LifecycleDeps } from './lifecycle/deps.ts'
import { confirmMove, giveBackBox } from './lifecycle/end-move.ts'
import { finishImport, importBox, readImport, undoImport } from './lifecycle/import-box.ts'
import { maintainBox } from './lifecycle/maintain-box.ts'
import { moveBox, showMovePlan } from './lifecycle/move-box.ts'
import { releaseBox } from './lifecycle/release-box.ts'
import { removeBox, undoRemoval } from './lifecycle/remove-box.ts'
import { restartBox } from './lifecycle/restart-box.ts'
import { applyManifest, currentManifest, type ManifestDeps, manifestsBefore, previewManifest } from './manifests.ts'
import { planImport } from './plan-import.ts'
import { type ProvisionDeps, provisionBox } from './provision-box.ts'
import { checkBox, readLogs, readServices, scanBoxes } from './query-boxes.ts'
import { countBoxes, describeBox, listBoxes, showBox } from './show-boxes.ts'
import { sizesOf } from './sizes.ts'
import { rehearseUpgrade } from './upgrades.ts'

export type BoxesDeps = ProvisionDeps & DriftDeps & ManifestDeps & LifecycleDeps

export const boxesRoutes = (deps: BoxesDeps) =>
  serveContract(boxesContract, {
    maintainBox: ({ actor, params, body }) => maintainBox(deps, actor, { ...params, ...body }),
    restartBox: ({ actor, params, body }) => restartBox(deps, actor, { ...params, ...body }),
    readLogs: ({ actor, params, body }) => readLogs(deps, actor, { ...params, ...body }),
    readServices: ({ params }) => readServices(deps, params.slug),
    followLogs: ({ actor, params, query, header, signal }) =>
      followLogs(deps, actor, { ...params, ...query, lastEventId: header('last-event-id'), signal }),
    planMove: ({ params, body }) => showMovePlan(deps, params.slug, body),
    moveBox: ({ actor, params, body }) => moveBox(deps, actor, { ...params, ...body }),
    confirmMove: ({ actor, params }) => confirmMove(deps, actor, params.slug),
    giveBackBox: ({ actor, params, body }) => giveBackBox(deps, actor, { ...params, ...body }),
    removeBox: ({ actor, params, body }) => removeBox(deps, actor, { ...params, ...body }),
    undoRemoval: ({ actor, params }) => undoRemoval(deps, actor, params.slug),
    planImport: ({ actor, params, body }) => planImport(deps, actor, { ...params, ...body }),
    importBox: ({ actor, params, body }) => importBox(deps, actor, { ...params, ...body }),
    readImport: ({ params }) => readImport(deps, params.slug),
    undoImport: ({ actor, params, body }) => undoImport(deps, actor, { ...params, ...body }),
    finishImport: ({ actor, params, body }) => finishImport(deps, actor, { ...params, ...body }),
    adoptAgain: ({ actor, params }) => adoptAgain(deps, actor, params.slug),
    releaseBox: ({ actor, params, body }) => releaseBox(deps, actor, { ...params, ...body }),
    rehearseUpgrade: ({ actor, params, body }) => rehearseUpgrade(deps, actor, { ...params, ...body }),
    listBoxes: ({ query }) => listBoxes(deps, query),
    countBoxes: () => countBoxes(deps),
    showBox: ({ params }) => showBox(deps, params.slug),
    listBoxSizes: async ({ params }) => ({ days: await sizesOf(deps.db, await existingBoxBy(deps.db, params.slug)) }),
    provisionBox: ({ actor, body }) => provisionBox(deps, actor, body),
    adoptBox: ({ actor, body }) => adoptBox(deps, actor, body),
    scanBoxes: ({ actor, body }) => scanBoxes(deps, actor, body),
    checkBox: ({ actor, params }) => checkBox(deps, actor, params.slug),
    changeBox: async ({ actor, params, body }) => describeBox(deps, deps.db, await markCanary(deps, actor, { ...params, ...body })),
    showManifest: () => currentManifest(deps.db),
    diffManifest: async ({ body }) => copy(await previewManifest(deps, body.manifest)),
    applyManifest: async ({ actor, body }) => {
      const applied = await applyManifest(deps, actor, body.manifest)
      // Updates the stored drift at once; if the daemon stops here, the hourly job does it.
      if (applied.changed) await detectDrift(deps)
      return copy(applied)
    },
    listManifestRevisions: async ({ query: { cursor, limit } }) => {
      const found = await manifestsBefore(deps.db, { before: cursor, limit: limit + 1 })
      const { page, nextCursor } = pageOf(found, limit, ({ revision }) => String(revision))
      return { revisions: page, nextCursor }
    },
  })

const copy = <Answer extends { changes: readonly unknown[] }>(
  answer: Answer,
): Omit<Answer, 'changes'> & { changes: Answer['changes'][number][] } => ({
  ...answer,
  changes: [...answer.changes],
})

type Deps = Readonly<{ db: Db; clock: Clock }>

/** Marks a box as a canary, or unmarks it. Repeating it changes nothing but the audit log. */
const markCanary = ({ db, clock }: Deps, actor: Actor, { slug: key, canary }: { slug: string; canary: boolean }): Promise<BoxRecord> =>
  db.transaction().execute(async (tx) => {
    const box = await existingBoxBy(tx, key)
    await changeBox(tx, box, { canary: canary ? 1 : 0 })
    await recordAudit(tx, clock, { actor, action: 'box.canary', subject: box.slug, data: { canary } })
    return { ...box, canary }
  })
