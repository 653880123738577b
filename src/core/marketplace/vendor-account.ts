import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { Item, ItemType } from './item.ts'
import { Screenshot } from './screenshot.ts'
import { SubmissionStatus } from './submission.ts'
import { Vendor } from './vendor.ts'

/** The link of a mail opens one session, and ends then. */
export const vendorLinkMs = 30 * 60_000
/** A session ends after this, also in use. */
export const vendorSessionMs = 8 * 60 * 60_000

/** A vendor as it sees itself. */
const OwnVendor = Vendor.omit({ paymentAccountId: true, contactEmail: true })

export const VendorAccount = z.object({
  email: z.string().meta({ description: 'The proven address; the account has everything that belongs to it' }),
  expiresAt: Timestamp.meta({ description: 'End of the session' }),
  vendors: z.array(OwnVendor).meta({ description: 'Usually one; an operator may have made more. Empty before the first approval' }),
})
export type VendorAccount = Readonly<z.infer<typeof VendorAccount>>

export const VendorItem = Item.pick({
  ...{ id: true, itemType: true, slug: true, name: true, description: true, iconEmoji: true, category: true, vendorId: true },
  ...{ version: true, status: true, priceModel: true, priceCents: true, currency: true, screenshots: true },
  ...{ withdrawnAt: true, publishedAt: true, updatedAt: true },
}).extend({
  installations: z.int().meta({ description: 'Organisations that have it installed' }),
})
export type VendorItem = Readonly<z.infer<typeof VendorItem>>

/** A submission as its vendor sees it. */
export const VendorSubmission = z.object({
  id: z.string(),
  itemType: ItemType,
  name: z.string(),
  version: z.string(),
  status: SubmissionStatus,
  confirmed: z.boolean().meta({ description: 'False: somebody named this address. Confirm it if it was you' }),
  itemId: z.string().nullable().meta({ description: 'The item that it became, or that it is a new version of' }),
  reviewNotes: z.string().nullable(),
  reviewedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type VendorSubmission = Readonly<z.infer<typeof VendorSubmission>>

export const VendorItemDetail = VendorItem.extend({
  versions: z.array(VendorSubmission).meta({ description: 'Its submissions with their reviews, newest first' }),
})

export const VendorSubmissionDetail = VendorSubmission.extend({
  description: z.string(),
  warnings: z.array(z.string()),
  screenshots: z.array(Screenshot),
})
export type VendorSubmissionDetail = Readonly<z.infer<typeof VendorSubmissionDetail>>
