// The store of modules: developers upload packages, the platform scans and tests them, reviewers approve or reject them.
// Decides who is a developer, what may be submitted, and who may review. An approved version never changes.
// It runs no module for a tenant.
import { findSubmission } from './store.repo.ts'
import './store.tables.ts'
import { actorLabel, type DeveloperActor, problem } from '../../../core/kit/index.ts'
import { assertSameManifest, moduleCategories, readModuleManifest } from '../../../core/modules/index.ts'
import { catalogueContract, type NewSubmission, storeContract, storeInvitesContract } from '../../../core/store/index.ts'
import { feature } from '../../feature/index.ts'
import { serveContract } from '../../http/index.ts'
import { listStoreModules, showStoreModule } from './catalogue.ts'
import { deleteOldPackages } from './clean-up.ts'
import type { StoreDeps } from './deps.ts'
import { createInvite, registerDeveloper, verifyDeveloper } from './developers.ts'
import { downloadPackage, linkTo } from './download-package.ts'
import { packageExaminer } from './examine-package.ts'
import { decisionTopic, mailDecision } from './mail-decision.ts'
import { rateModule, removeRatingComment } from './ratings.ts'
import { listReviews, reviewSubmission } from './reviews.ts'
import { showReview } from './show-review.ts'
import { listSubmissions, ownSubmission, submissionView } from './submissions.ts'
import { uploadPackage } from './upload-package.ts'

export const storeFeature = feature<StoreDeps>({
  name: 'store',
  routes: (deps) => {
    const examiner = packageExaminer(deps)
    return [
      ...serveContract(storeContract, {
        registerDeveloper: ({ actor, body }) => registerDeveloper(deps, actor, body),
        uploadModule: ({ actor, upload, signal }) => uploadPackage({ ...deps, examiner }, actor, { upload, signal }),
        submitModule: ({ actor, body, signal }) => submitPackage({ ...deps, examiner }, actor, { ...body, signal }),
        listSubmissions: ({ actor, query }) => listSubmissions(deps, actor, query),
        showSubmission: async ({ actor, params }) => submissionView(await ownSubmission(deps, actor, params.id)),
        linkPackage: async ({ actor, params }) => linkTo(deps, await ownSubmission(deps, actor, params.submissionId)),
        downloadPackage: ({ params, query }) => downloadPackage(deps, { ...params, ...query }),
        listReviews: ({ query }) => listReviews(deps, query),
        showReview: ({ params }) => showReview(deps, params.id),
        verifyDeveloper: ({ actor, params, body }) => verifyDeveloper(deps, actor, { ...params, ...body }),
        reviewSubmission: ({ actor, params, body }) => reviewSubmission(deps, actor, { ...params, ...body }),
      }),
      ...serveContract(catalogueContract, {
        listStoreModules: ({ actor, query }) => listStoreModules(deps, actor, query),
        showStoreModule: ({ actor, params }) => showStoreModule(deps, actor, params.moduleId),
        listStoreCategories: async () => ({ categories: [...moduleCategories] }),
        rateModule: ({ actor, params, body }) => rateModule(deps, actor, { ...params, ...body }),
        removeRatingComment: ({ actor, params }) => removeRatingComment(deps, actor, params.id),
      }),
      ...serveContract(storeInvitesContract, {
        createStoreInvite: ({ actor }) => createInvite(deps, actor, actorLabel(actor)),
      }),
    ]
  },
  jobs: (deps) => ({ [decisionTopic]: mailDecision(deps) }),
  cleanup: (deps) => [() => deleteOldPackages(deps)],
})

type Deps = Pick<StoreDeps, 'db'> & Readonly<{ examiner: ReturnType<typeof packageExaminer> }>

/**
 * Confirms the submission that an upload made: its bytes were scanned and tested then, and never change. Source files of the request are scanned
 * in addition. Throws NOT_FOUND, also for a package of another developer, MANIFEST_MISMATCH, SCAN_FAILED, INVALID_TRANSITION, UNAVAILABLE.
 */
async function submitPackage(
  { db, examiner }: Deps,
  { developerId }: DeveloperActor,
  { manifest, artifactPath, sourceFiles = {}, signal }: NewSubmission & Readonly<{ signal: AbortSignal }>,
) {
  const sent = readModuleManifest(JSON.stringify(manifest))
  // First, so that forbidden code is named (spec 3.2) whatever else the request lacks.
  await examiner.scanSources({ sourceFiles, signal })
  const one = await findSubmission(db, { artifactId: artifactPath })
  if (one?.developerId !== developerId)
    throw problem('NOT_FOUND', `You uploaded no package ${artifactPath}. fix: upload it with POST …/store/developer/upload`)
  // The stored manifest has its defaults.
  assertSameManifest(sent, one.manifest)
  if (one.status !== 'in_review')
    throw problem('INVALID_TRANSITION', `Submission ${one.id} of this package is ${one.status}. fix: upload the package again`)
  return { submissionId: one.id, status: 'in_review' as const }
}
