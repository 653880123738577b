// The marketplace: vendors submit flows and apps, operators review and price them, tenants install them.
// Decides shapes, prices, slugs and the states of submissions, items, subscriptions and vendor accounts (spec 3.3 to 3.6). Pure.
// It moves no money: the payments feature does.
export { marketplaceAdminContract } from './admin-contract.ts'
export { appWarnings, checkApp, checkFlow, undeclaredBy } from './check-bundle.ts'
export { type ItemDetail, marketplaceContract, type TenantItem } from './contract.ts'
export { changesStatus, type Item, type ItemChange, type ItemStatus, type ItemType } from './item.ts'
export { statusOfMail, submissionMail, vendorLinkMail } from './mails.ts'
export { assertCharged, type PriceModel, storedCents } from './pricing.ts'
export { marketplacePublicContract } from './public-contract.ts'
export { maxScreenshots, type Screenshot, screenshotSides } from './screenshot.ts'
export { SeedFile } from './seed.ts'
export { freeSlug, slugOf } from './slug.ts'
export {
  type AppBundle,
  type Approval,
  type NewSubmission,
  type Submission,
  type SubmissionAction,
  type SubmissionContent,
  type SubmissionState,
  type SubmissionStatus,
  type SubmissionSummary,
  submissionAfter,
} from './submission.ts'
export { hasUpdate, type PaymentStatus, type Subscription, type SubscriptionStatus, subscriptionAfter } from './subscription.ts'
export {
  defaultFeePercent,
  feeHundredths,
  type NewVendor,
  Vendor,
  type VendorChange,
} from './vendor.ts'
export {
  type VendorAccount,
  type VendorItem,
  type VendorSubmission,
  type VendorSubmissionDetail,
  vendorLinkMs,
  vendorSessionMs,
} from './vendor-account.ts'
export { vendorContract } from './vendor-contract.ts'
export { vendorHeader } from './vendor-page.ts'
export { withdrawalMail } from './withdrawal-mail.ts'
