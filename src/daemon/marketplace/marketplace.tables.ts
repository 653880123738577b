import type { Generated } from 'kysely'
import type { ItemStatus, ItemType, PaymentStatus, PriceModel, SubmissionStatus } from '../../core/marketplace/index.ts'

export type VendorTable = {
  id: string
  name: string
  contact_email: string
  /** ISO 3166-1 alpha-2. */
  country: string
  /** Unique. Null until the provider has created the account. */
  payment_account_id: string | null
  payment_account_status: 'pending' | 'active' | 'restricted'
  charges_enabled: number
  payouts_enabled: number
  /** A sync found that the provider does not have the account any more. */
  payment_account_gone: Generated<number>
  /** Hundredths of a percent: 3000 is 30.00 %. */
  application_fee_hundredths: number
  created_at: string
  updated_at: string
}

export type ItemTable = {
  id: string
  item_type: ItemType
  /** Unique. */
  slug: string
  name: string
  description: string
  icon_emoji: string
  category: string
  vendor_id: string | null
  /** The name of the vendor at the time of the last change. */
  vendor_name: string
  version: string
  status: ItemStatus
  /** Null for a free item; then cents and currency are null too. */
  price_model: PriceModel | null
  price_cents: number | null
  /** ISO 4217, lower case. */
  currency: string | null
  payment_product_id: string | null
  /** Null until the provider has the price that the row names: a change of the price clears it. */
  payment_price_id: string | null
  /** JSON, as screenshots (file keys). */
  bundle: string
  screenshots: string
  /** The name of the seed file that created the item, and the hash of what it published last. */
  seed_key: string | null
  seed_hash: string | null
  /** Its vendor withdrew it: paid subscriptions end with their period. */
  withdrawn_at: string | null
  /** 1: an admin changed the item, so a seed never does again. */
  changed_by_admin: number
  published_at: string | null
  created_at: string
  updated_at: string
}

export type SubmissionTable = {
  id: string
  item_type: ItemType
  name: string
  description: string
  icon_emoji: string
  category: string
  version: string
  vendor_id: string | null
  vendor_name: string
  vendor_email: string
  vendor_country: string
  price_model: PriceModel | null
  price_cents: number | null
  currency: string | null
  /** JSON, as warnings. */
  bundle: string
  warnings: string
  status: SubmissionStatus
  /** 1 for the first sending; each PUT raises it. A link of a mail names the round that it belongs to. */
  round: number
  /** The vendor followed the link in the mail. */
  proven_at: string | null
  review_notes: string | null
  reviewed_at: string | null
  reviewed_by: string | null
  /** The item that it is a new version of, by its vendor. */
  item_id: string | null
  approved_item_id: string | null
  created_at: string
  updated_at: string
}

/** Counts per address, deleted after a day. */
type IntakeTable = { id: string; kind: 'submission' | 'receipt' | 'link'; subject: string; created_at: string }

/** A link of a mail that opens one session. Its token is not stored. */
type VendorLinkTable = { id: string; email: string; created_at: string; expires_at: string; used_at: string | null }

/** The token is stored as its hash alone. The address is in lower case, as in links. */
type VendorSessionTable = { id: string; token_hash: string; email: string; created_at: string; expires_at: string }

/** Pictures of submissions; those of the approved version are those of its item. */
export type ScreenshotTable = {
  id: string
  submission_id: string
  state: 'uploading' | 'stored'
  content_type: string
  bytes: number
  width: number
  height: number
  sha256: string
  created_at: string
}

export type SubscriptionTable = {
  id: string
  tenant_id: string
  item_id: string
  item_type: ItemType
  installed_version: string
  status: 'active' | 'cancelled'
  /** The price at the installation; null for a free item. */
  price_model: PriceModel | null
  price_cents: number | null
  currency: string | null
  payment_price_id: string | null
  /** Unique. */
  payment_subscription_id: string | null
  payment_subscription_item_id: string | null
  payment_status: PaymentStatus
  /** A cancelled subscription is paid until then. */
  paid_until: string | null
  /** The board that was copied last. */
  installed_template_id: string | null
  /** The module of an app. */
  module_id: string | null
  /** 1: an app installed the module, so the last one ends it; 0: the organisation did. */
  owns_module: Generated<number>
  /** Null once the user is erased. */
  installed_by: string | null
  installed_at: string
  cancelled_at: string | null
  updated_at: string
}

declare module '../db/database.ts' {
  interface Tables {
    marketplace_vendors: VendorTable
    marketplace_items: ItemTable
    marketplace_submissions: SubmissionTable
    marketplace_intake: IntakeTable
    marketplace_screenshots: ScreenshotTable
    vendor_links: VendorLinkTable
    vendor_sessions: VendorSessionTable
    marketplace_subscriptions: SubscriptionTable
  }
}
