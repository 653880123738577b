import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { isNewer } from '../modules/index.ts'
import { type ItemStatus, ItemType } from './item.ts'
import { PriceModel } from './pricing.ts'

export const SubscriptionStatus = z.enum(['active', 'cancelled'])
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>

/** Beside the status: a failed payment takes nothing away, only the end of the subscription at the provider does. */
export const PaymentStatus = z.enum(['ok', 'past_due', 'unpaid'])
export type PaymentStatus = z.infer<typeof PaymentStatus>

type Verb = 'install' | 'uninstall' | 'payment-deleted'

const moves: Readonly<Record<SubscriptionStatus | 'none', Partial<Record<Verb, SubscriptionStatus | 'unchanged'>>>> = {
  none: { install: 'active' },
  active: { uninstall: 'cancelled', 'payment-deleted': 'cancelled' },
  cancelled: { install: 'active', uninstall: 'unchanged', 'payment-deleted': 'unchanged' },
}

/** Spec 3.5: the next status, or null if nothing changes. Throws ALREADY_INSTALLED, NOT_FOUND. */
export function subscriptionAfter(from: SubscriptionStatus | null, verb: Verb): SubscriptionStatus | null {
  const to = moves[from ?? 'none'][verb]
  if (to === 'unchanged') return null
  if (to !== undefined) return to
  throw verb === 'install'
    ? problem('ALREADY_INSTALLED', 'The item is already installed. fix: list what is installed with GET …/marketplace/subscriptions')
    : problem('NOT_FOUND', 'The subscription does not exist. fix: list what is installed with GET …/marketplace/subscriptions')
}

type Installed = Readonly<{ status: SubscriptionStatus; installedVersion: string }>

/** Whether the item is published in a version greater than the installed one. */
export const hasUpdate = ({ status, installedVersion }: Installed, item: Readonly<{ status: ItemStatus; version: string }>): boolean =>
  status === 'active' && item.status === 'published' && isNewer(item.version, installedVersion)

export const Subscription = z.object({
  id: z.string(),
  itemId: z.string(),
  itemType: ItemType,
  name: z.string().meta({ description: 'Of the item' }),
  installedVersion: z.string(),
  currentVersion: z.string(),
  updateAvailable: z.boolean(),
  status: SubscriptionStatus,
  paymentStatus: PaymentStatus,
  priceModel: PriceModel.nullable(),
  priceCents: z.int().nullable(),
  currency: z.string().nullable(),
  installedTemplateId: z.string().nullable().meta({ description: 'A flow: the board that was copied last' }),
  moduleId: z.string().nullable().meta({ description: 'An app: its module' }),
  installedAt: Timestamp,
  cancelledAt: Timestamp.nullable(),
  withdrawn: z.boolean().meta({ description: 'The vendor withdrew the item: a paid subscription ends at paidUntil, a free one stays' }),
  paidUntil: Timestamp.nullable().meta({
    description: 'A cancelled subscription is paid until then, and one of a withdrawn item ends then',
  }),
})
export type Subscription = Readonly<z.infer<typeof Subscription>>
