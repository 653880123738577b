// The store of modules: developers upload packages, the platform scans and tests them, reviewers approve or reject them.
// Decides who is a developer, what may be submitted, and who may review. An approved version never changes.
// It runs no module for a tenant.
import './store.tables.ts'
import { actorLabel } from '../../core/kit/index.ts'
import { moduleCategories } from '../../core/modules/index.ts'
import { catalogueContract, storeContract, storeInvitesContract } from '../../core/store/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { listStoreModules, showStoreModule } from './catalogue.ts'
import { deleteOldPackages } from './clean-up.ts'
import type { StoreDeps } from './deps.ts'
import { createInvite, registerDeveloper } from './developers.ts'
import { downloadPackage, linkTo } from './download-package.ts'
import { packageExaminer } from './examine-package.ts'
import { rateModule, removeRatingComment } from './ratings.ts'
import { listReviews, reviewSubmission } from './reviews.ts'
import { listSubmissions, ownSubmission, submissionView } from './submissions.ts'
import { uploadPackage } from './upload-package.ts'

export {
  type ApprovedModule,
  approvedModule,
  approvedModules,
  approvedVersionsOf,
  loadApprovedModule,
  loadApprovedPackage,
} from './approved-modules.ts'
export { authenticateDeveloper } from './developers.ts'
export { eraseDeveloper } from './erase-developer.ts'
export { erasePackages, modulesOfDevelopers } from './erase-packages.ts'
export { openExaminer } from './open-examiner.ts'

export const storeFeature = feature<StoreDeps>({
  name: 'store',
  routes: (deps) => {
    const examine = packageExaminer(deps)
    return [
      ...serveContract(storeContract, {
        registerDeveloper: ({ actor, body }) => registerDeveloper(deps, actor, body),
        uploadModule: ({ actor, upload, signal }) => uploadPackage({ ...deps, examine }, actor, { upload, signal }),
        listSubmissions: ({ actor, query }) => listSubmissions(deps, actor, query),
        showSubmission: async ({ actor, params }) => submissionView(await ownSubmission(deps, actor, params.id)),
        linkPackage: async ({ actor, params }) => linkTo(deps, await ownSubmission(deps, actor, params.submissionId)),
        downloadPackage: ({ params, query }) => downloadPackage(deps, { ...params, ...query }),
        listReviews: ({ query }) => listReviews(deps, query),
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
  cleanup: (deps) => [() => deleteOldPackages(deps)],
})
