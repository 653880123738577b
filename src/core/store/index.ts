// The store of modules: developers, submissions of packages, and reviews.
// It decides shapes and limits of submissions. Whether a package may be submitted, src/core/modules and src/core/scan decide.
export { type CatalogueQuery, catalogueContract, type NewRating, type Rating, type StoreItem } from './catalogue.ts'
export { storeContract, storeInvitesContract } from './contract.ts'
export { decisionMail } from './decision-mail.ts'
export { type ComparedVersion, differenceOf } from './difference.ts'
export {
  type Developer,
  type NewDeveloper,
  type NewSubmission,
  type ReviewAction,
  type SourceFile,
  type Submission,
  storeLimits,
} from './submission.ts'
export { manifestWarnings } from './warnings.ts'
