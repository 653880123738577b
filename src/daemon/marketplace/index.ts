// The marketplace: strangers submit flows and apps, operators review, price and list them, tenants install them.
// Decides by the rules of core/marketplace. A change, its event and its audit entry commit in one transaction.
// It calls no payment provider: what costs money goes through `MarketplacePayments`.
import './marketplace.tables.ts'
import {
  marketplaceAdminContract,
  marketplaceContract,
  marketplacePublicContract,
  vendorContract,
  vendorHeader,
  vendorSessionMs,
} from '../../core/marketplace/index.ts'
import { feature } from '../feature/index.ts'
import { assertPageCall, pageHeaders, serveContract } from '../http/index.ts'
import { announce, announceTopic } from './announce-item.ts'
import { changeItem, changeVendor, createVendor } from './change-item.ts'
import { confirmAddress, confirmSubmission, showConfirmation, showSubmissionPage } from './confirm-address.ts'
import { deleteOldSubmissions } from './delete-old-submissions.ts'
import type { MarketplaceDeps } from './deps.ts'
import { installItem } from './install-item.ts'
import { deleteOldCounts } from './intake.ts'
import { uninstallItem, updateInstalled } from './leave-item.ts'
import { mailTopic, mailVendor } from './mail-vendor.ts'
import { mailThoseWhoHaveIt, mailWithdrawal, withdrawnMailTopic, withdrawnTopic } from './mail-withdrawal.ts'
import { listItems, listSubmissions, listVendors, showSubmission } from './operate-marketplace.ts'
import { publishSeeds } from './publish-seeds.ts'
import { remindOfReview, reviewDueTopic } from './review-due.ts'
import { approveSubmission, rejectSubmission, requestChanges } from './review-submission.ts'
import {
  addScreenshot,
  deleteOldScreenshots,
  deleteScreenshot,
  readOwnScreenshot,
  readReviewScreenshot,
  readScreenshot,
} from './screenshots.ts'
import { listTenantItems, listTenantSubscriptions, showTenantItem } from './show-marketplace.ts'
import { repeatSubmission, showSubmissionState, submitItem } from './submit-item.ts'
import { reviseSubmission, submitVersion } from './submit-version.ts'
import { vendorAccess } from './vendor-access.ts'
import {
  listVendorItems,
  listVendorSubmissions,
  showVendor,
  showVendorAccount,
  showVendorItem,
  showVendorSubmission,
} from './vendor-account.ts'
import { deleteEndedSessions, mailVendorLink, sendVendorLink, vendorLinkTopic } from './vendor-links.ts'
import { closeVendorSession, endReplacedSession, openVendorSession } from './vendor-sessions.ts'
import { withdrawItem } from './withdraw-item.ts'

export { type BundlePlan, planBundle } from './bundle.ts'
export type { MarketplaceDeps, MarketplacePayments } from './deps.ts'
export { activateInstalled, storeInstallation } from './install-item.ts'
export { findItem, type ItemRecord, lockItem, replaceItem } from './items.repo.ts'
export { cancelInstallation } from './leave-item.ts'
export { isSamePrice, type Price, priceFor } from './own-price.ts'

export { publishSeeds } from './publish-seeds.ts'
export { screenshotsStored, someScreenshotKeys } from './screenshots.repo.ts'
export { findSubscription, lockSubscription, type SubscriptionRecord, storeSubscription, subscriptionsOf } from './subscriptions.repo.ts'
export { vendorAccess } from './vendor-access.ts'
export { authenticateVendor } from './vendor-sessions.ts'
export { findVendor, isAccountGone, lockVendor, replaceVendor, storeAccountGone, vendorIdsOf } from './vendors.repo.ts'

function vendorRoutes(deps: MarketplaceDeps) {
  const page = vendorAccess(deps.baseUrl)
  return serveContract(vendorContract, {
    sendVendorLink: ({ body, address }) => sendVendorLink(deps, { ...body, address }),
    openVendorSession: ({ body }) => openVendorSession(deps, body),
    openVendorPage: async ({ body, header, setCookie }) => {
      const headers = pageHeaders(header, vendorHeader)
      assertPageCall(page, headers)
      const { token, ...opened } = await openVendorSession(deps, body)
      await endReplacedSession(deps, page.cookieOf(headers))
      setCookie(page.cookie(token, vendorSessionMs))
      return opened
    },
    closeVendorSession: async ({ actor, header, setCookie }) => {
      await closeVendorSession(deps, actor)
      if (page.cookieOf(pageHeaders(header, vendorHeader)) !== undefined) setCookie(page.deletedCookie)
      return undefined
    },
    showVendorAccount: ({ actor }) => showVendorAccount(deps, actor),
    listVendorItems: ({ actor, query }) => listVendorItems(deps, actor, query),
    showVendorItem: ({ actor, params }) => showVendorItem(deps, actor, params),
    submitVersion: ({ actor, params, body, address }) => submitVersion(deps, actor, { ...params, body, address }),
    withdrawItem: ({ actor, params }) => withdrawItem(deps, actor, params),
    listVendorSubmissions: ({ actor, query }) => listVendorSubmissions(deps, actor, query),
    showVendorSubmission: ({ actor, params }) => showVendorSubmission(deps, actor, params),
    confirmSubmission: ({ actor, params }) => confirmSubmission(deps, actor, params),
    reviseSubmission: ({ actor, params, body }) => reviseSubmission(deps, actor, { ...params, body }),
    addScreenshot: ({ actor, params, upload }) => addScreenshot(deps, actor, { ...params, upload }),
    deleteScreenshot: ({ actor, params }) => deleteScreenshot(deps, actor, params),
    readOwnScreenshot: ({ actor, params }) => readOwnScreenshot(deps, actor, params),
  })
}

export const marketplaceFeature = feature<MarketplaceDeps>({
  name: 'marketplace',
  routes: (deps) => [
    ...serveContract(marketplaceContract, {
      listMarketplaceItems: ({ actor, query }) => listTenantItems(deps, actor, query),
      showMarketplaceItem: ({ actor, params }) => showTenantItem(deps, actor, params),
      listMarketplaceSubscriptions: ({ actor }) => listTenantSubscriptions(deps, actor),
      installMarketplaceItem: ({ actor, params, body }) => installItem(deps, actor, { ...params, ...body }),
      uninstallMarketplaceItem: ({ actor, params }) => uninstallItem(deps, actor, params),
      updateMarketplaceItem: ({ actor, params }) => updateInstalled(deps, actor, params),
    }),
    ...serveContract(marketplaceAdminContract, {
      listItems: ({ query }) => listItems(deps, query),
      listVendors: ({ query }) => listVendors(deps, query),
      showVendor: ({ params }) => showVendor(deps, params),
      readReviewScreenshot: ({ params }) => readReviewScreenshot(deps, params),
      listMarketplaceSubmissions: ({ query }) => listSubmissions(deps, query),
      showMarketplaceSubmission: ({ params }) => showSubmission(deps, params),
      approveMarketplaceSubmission: ({ actor, params, body }) => approveSubmission(deps, actor, { ...params, ...body }),
      rejectMarketplaceSubmission: ({ actor, params, body }) => rejectSubmission(deps, actor, { ...params, ...body }),
      requestMarketplaceChanges: ({ actor, params, body }) => requestChanges(deps, actor, { ...params, ...body }),
      changeItem: ({ actor, params, body }) => changeItem(deps, actor, { ...params, ...body }),
      createVendor: ({ actor, body }) => createVendor(deps, actor, body),
      changeVendor: ({ actor, params, body }) => changeVendor(deps, actor, { ...params, ...body }),
    }),
    ...serveContract(marketplacePublicContract, {
      submitItem: ({ body, address }) => submitItem(deps, body, { address }),
      showSubmissionState: ({ params }) => showSubmissionState(deps, params),
      showSubmissionPage: ({ params }) => showSubmissionPage(deps, params),
      repeatSubmission: ({ params, query, body }) => repeatSubmission(deps, { ...params, ...query, body }),
      showAddressConfirmation: ({ params, query }) => showConfirmation(deps, { ...params, ...query }),
      confirmVendorAddress: ({ params, query }) => confirmAddress(deps, { ...params, ...query }),
      readScreenshot: ({ params }) => readScreenshot(deps, params),
    }),
    ...vendorRoutes(deps),
  ],
  jobs: (deps) => ({
    [mailTopic]: mailVendor(deps),
    [announceTopic]: announce(deps),
    [reviewDueTopic]: remindOfReview(deps),
    [vendorLinkTopic]: mailVendorLink(deps),
    [withdrawnTopic]: mailThoseWhoHaveIt(deps),
    [withdrawnMailTopic]: mailWithdrawal(deps),
  }),
  loops: (deps) => [{ name: 'publish the flows of config/marketplace', everyMs: 24 * 60 * 60_000, run: () => publishSeeds(deps) }],
  cleanup: (deps) => [
    (signal) => deleteOldCounts(deps, signal),
    (signal) => deleteEndedSessions(deps, signal),
    (signal) => deleteOldSubmissions(deps, signal),
    (signal) => deleteOldScreenshots(deps, signal),
  ],
})
