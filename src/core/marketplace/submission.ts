import { z } from 'zod'
import { FlowBundle } from '../boards/index.ts'
import { Email, shownLine, Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { Permission } from '../modules/index.ts'
import { ItemCategory, ItemType, ItemVersion, itemFields, paragraph } from './item.ts'
import { checkPrice, PriceModel } from './pricing.ts'
import { Screenshot } from './screenshot.ts'
import { Country } from './vendor.ts'

export const SubmissionStatus = z.enum(['pending', 'approved', 'rejected', 'needs-changes'])
export type SubmissionStatus = z.infer<typeof SubmissionStatus>

export type SubmissionAction = 'approve' | 'reject' | 'request-changes' | 'revise'

const moves: Readonly<Record<SubmissionStatus, Partial<Record<SubmissionAction, SubmissionStatus>>>> = {
  pending: { approve: 'approved', reject: 'rejected', 'request-changes': 'needs-changes' },
  'needs-changes': { revise: 'pending', reject: 'rejected' },
  approved: {},
  rejected: {},
}

const hints: Readonly<Record<SubmissionStatus, string>> = {
  pending: 'wait for the review',
  'needs-changes': 'wait until the vendor sends it again, or reject it',
  approved: 'send a new submission',
  rejected: 'send a new submission',
}

/** Spec 3.3. Throws INVALID_TRANSITION. */
export function submissionAfter(id: string, { from, action }: Readonly<{ from: SubmissionStatus; action: SubmissionAction }>) {
  const to = moves[from][action]
  if (to !== undefined) return to
  throw problem('INVALID_TRANSITION', `Submission ${id} is ${from}; ${action} is not possible. fix: ${hints[from]}`)
}

export const AppBundle = z.strictObject({
  manifest: z.strictObject({
    moduleKey: shownLine(80),
    featureFlag: shownLine(80),
    permissions: z.array(Permission).max(Permission.options.length),
  }),
})
export type AppBundle = z.infer<typeof AppBundle>

const content = {
  ...itemFields,
  version: ItemVersion.default('1.0.0'),
  priceModel: PriceModel.nullish().meta({ description: 'Absent or null for a free item' }),
  priceCents: z
    .int()
    .nullish()
    .meta({ description: 'Free: absent, null or 0. Flat: 50 to 100000 a month; per active user: 1 to 10000 a month' }),
}

const sender = {
  vendorName: shownLine(120),
  vendorEmail: Email,
  vendorCountry: Country.default('DE').meta({ description: 'ISO 3166-1 alpha-2' }),
}

const flow = { itemType: z.literal('flow'), ...content, bundle: FlowBundle }
const app = { itemType: z.literal('app'), ...content, bundle: AppBundle }

export const NewSubmission = z
  .discriminatedUnion('itemType', [z.strictObject({ ...flow, ...sender }), z.strictObject({ ...app, ...sender })])
  .superRefine(checkPrice)
export type NewSubmission = Readonly<z.infer<typeof NewSubmission>>

/** A submission from the account of a vendor, which names its sender. */
export const SubmissionContent = z.discriminatedUnion('itemType', [z.strictObject(flow), z.strictObject(app)]).superRefine(checkPrice)
export type SubmissionContent = Readonly<z.infer<typeof SubmissionContent>>

/** Bytes of the body of a submission. */
export const maxSubmissionBytes = 1024 * 1024

/** The view of a stranger with the id of a submission. */
export const SubmissionState = z.object({
  submissionId: z.string(),
  itemType: ItemType,
  name: z.string(),
  version: z.string(),
  status: SubmissionStatus,
  reviewNotes: z.string().nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type SubmissionState = Readonly<z.infer<typeof SubmissionState>>

export const SubmissionSummary = z.object({
  id: z.string(),
  itemType: ItemType,
  name: z.string(),
  category: ItemCategory,
  version: z.string(),
  vendorName: z.string(),
  vendorEmail: z.string(),
  proven: z.boolean().meta({ description: 'The vendor followed the link in the mail to this address' }),
  priceModel: PriceModel.nullable(),
  priceCents: z.int().nullable(),
  currency: z.string().nullable(),
  status: SubmissionStatus,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type SubmissionSummary = Readonly<z.infer<typeof SubmissionSummary>>

/** A vendor that the submission may join. */
const KnownVendor = z.object({
  id: z.string(),
  name: z.string(),
  items: z
    .array(z.object({ id: z.string(), name: z.string(), version: z.string() }))
    .meta({ description: 'Its items of this type, newest first' }),
})

export const Submission = SubmissionSummary.extend({
  description: z.string(),
  iconEmoji: z.string(),
  vendorCountry: z.string(),
  vendorId: z.string().nullable(),
  forItem: z
    .object({ id: z.string(), name: z.string(), version: z.string() })
    .nullable()
    .meta({ description: 'The item that it is a new version of, sent from the account of its vendor' }),
  screenshots: z.array(Screenshot),
  vendors: z.array(KnownVendor).meta({ description: 'Vendors with the proven address, while the submission is pending' }),
  bundle: z.record(z.string(), z.unknown()),
  round: z.int().meta({ description: '1 for the first sending; each repeated one raises it' }),
  warnings: z.array(z.string()).meta({ description: 'What the reviewer should notice' }),
  reviewNotes: z.string().nullable(),
  reviewedAt: Timestamp.nullable(),
  reviewedBy: z.string().nullable(),
  approvedItemId: z.string().nullable(),
})
export type Submission = Readonly<z.infer<typeof Submission>>

const Notes = paragraph(4000)
export const Reason = Notes.min(1)

export const Approval = z.strictObject({
  round: z
    .int()
    .min(1)
    .default(1)
    .meta({ description: 'The round that was read: a submission that was sent again meanwhile is not approved. Default: the first' }),
  notes: Notes.default('').meta({ description: 'For the vendor' }),
  vendorId: z.string().min(1).max(100).nullish().meta({
    description:
      'The vendor that the item joins; its contact address must be the proven one of the submission. Null: a new vendor. Default: the vendor of the item that it was sent for, else that of the address, else a new one',
  }),
  itemId: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'The item of this vendor that gets a new version. Default: the item that it was sent for, else a new one' }),
})
export type Approval = Readonly<z.infer<typeof Approval>>
