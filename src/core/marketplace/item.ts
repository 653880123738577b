import { z } from 'zod'
import { shownLine, Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { checkPrice, PriceModel } from './pricing.ts'

export const ItemType = z.enum(['flow', 'app'])
export type ItemType = z.infer<typeof ItemType>

export const ItemStatus = z.enum(['draft', 'published', 'archived'])
export type ItemStatus = z.infer<typeof ItemStatus>

const itemCategories = [
  ...(['crisis', 'organization', 'education', 'communication', 'management', 'tools', 'operations', 'other'] as const),
] as const
export const ItemCategory = z.enum(itemCategories)

const moves = { draft: ['published'], published: ['draft', 'archived'], archived: ['published'] } as const satisfies Record<
  ItemStatus,
  readonly ItemStatus[]
>

/** Spec 3.4. False if the item has the status already. Throws INVALID_TRANSITION. */
export function changesStatus(slug: string, { from, to }: Readonly<{ from: ItemStatus; to: ItemStatus }>): boolean {
  if (from === to) return false
  const allowed: readonly ItemStatus[] = moves[from]
  if (allowed.includes(to)) return true
  throw problem('INVALID_TRANSITION', `Item ${slug} is ${from}; it cannot become ${to}. fix: change it to ${allowed.join(' or ')} first`)
}

/** Text of several lines. */
export const paragraph = (max: number) =>
  z
    .string()
    .max(max)
    .trim()
    .regex(/^[^\0]*$/, 'must not contain NUL')

const ofPreRelease = String.raw`(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)`

/** A semantic version of at most 20 characters, without build metadata. */
export const ItemVersion = z
  .string()
  .max(20)
  .regex(
    new RegExp(String.raw`^(?:0|[1-9]\d{0,5})(?:\.(?:0|[1-9]\d{0,5})){2}(?:-${ofPreRelease}(?:\.${ofPreRelease})*)?$`),
    'must be a version such as 1.4.0 or 2.0.0-beta.1',
  )

/** One emoji as a person sees it, also one of several characters such as a flag. */
const oneEmoji =
  /^(?:\p{RI}{2}|[0-9#*]\ufe0f?\u20e3|\p{ExtPict}(?:\p{EMod}|\ufe0f)*(?:\u200d\p{ExtPict}(?:\p{EMod}|\ufe0f)*)*[\u{e0020}-\u{e007f}]*)$/u

/** Fields of an item that its vendor writes. */
export const itemFields = {
  name: shownLine(120),
  description: paragraph(10_000),
  iconEmoji: shownLine(40).refine((text) => oneEmoji.test(text), 'must be one emoji, such as 👋'),
  category: ItemCategory,
}

const Priced = {
  priceModel: PriceModel.nullable().meta({ description: 'Null for a free item' }),
  priceCents: z.int().nullable().meta({ description: 'Cents a month, or cents for each active user of a month' }),
  currency: z.string().nullable().meta({ description: 'ISO 4217, lower case; null for a free item' }),
}

/** An item as tenants see it. */
export const ListedItem = z.object({
  id: z.string(),
  itemType: ItemType,
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  iconEmoji: z.string(),
  category: ItemCategory,
  vendorName: z.string(),
  version: z.string(),
  ...Priced,
  screenshots: z.array(z.string()).meta({ description: 'Ids of pictures: GET /api/public/marketplace/screenshots/:id' }),
  publishedAt: Timestamp.nullable(),
})
export type ListedItem = Readonly<z.infer<typeof ListedItem>>

/** An item as operators see it. */
export const Item = ListedItem.extend({
  status: ItemStatus,
  vendorId: z.string().nullable(),
  paymentProductId: z.string().nullable(),
  paymentPriceId: z.string().nullable().meta({ description: 'Null until the provider has the price; a paid item sells only with it' }),
  isSeed: z.boolean().meta({ description: 'Published from config/marketplace' }),
  withdrawnAt: Timestamp.nullable().meta({ description: 'Its vendor withdrew it: paid subscriptions end with their period' }),
  changedByAdmin: z.boolean().meta({ description: 'A seed that an admin changed is never published again' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Item = Readonly<z.infer<typeof Item>>

export const ItemChange = z
  .strictObject({
    status: ItemStatus.optional(),
    priceModel: PriceModel.nullable().optional().meta({ description: 'Null makes the item free; goes with priceCents' }),
    priceCents: z.int().nullable().optional(),
    vendorId: z.string().min(1).max(100).nullable().optional().meta({ description: 'Null: an item of the platform itself' }),
    screenshots: z
      .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/, 'must be the key of a file'))
      .max(10)
      .optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), 'must change something')
  .superRefine((change, context) => {
    if (change.priceModel !== undefined || change.priceCents !== undefined) checkPrice(change, context)
  })
  .meta({ minProperties: 1 })
export type ItemChange = Readonly<z.infer<typeof ItemChange>>
