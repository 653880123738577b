import { z } from 'zod'
import { type Contract, endpoint, Paging, platform } from '../contract/index.ts'
import { Permission } from '../modules/index.ts'
import { ItemCategory, ItemType, ListedItem } from './item.ts'
import { PriceModel } from './pricing.ts'
import { Subscription } from './subscription.ts'

const base = '/api/platform/v1/marketplace'
export const one = z.object({ id: z.string().min(1).max(100) })
const manage = platform('manageMarketplace')

const TenantItem = ListedItem.extend({
  installed: z.boolean(),
  subscriptionId: z.string().nullable(),
  installedVersion: z.string().nullable(),
  updateAvailable: z.boolean(),
})
export type TenantItem = Readonly<z.infer<typeof TenantItem>>

const Detail = TenantItem.extend({
  bundle: z
    .record(z.string(), z.unknown())
    .meta({ description: 'A flow: `templateExport`, an app: `manifest`. Without `config` for a paid item that is not installed' }),
  permissions: z.array(Permission).nullable().meta({ description: 'An app: permissions that an installation approves' }),
  modulePrice: z
    .object({ cents: z.int(), currency: z.string() })
    .nullable()
    .meta({ description: 'An app: what its module costs a month, beside the price of the app; null for a free module' }),
  obstacle: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .meta({ description: 'Why the item cannot be installed now; null if it can' }),
})
export type ItemDetail = Readonly<z.infer<typeof Detail>>

/** The marketplace for users of tenants. */
export const marketplaceContract = {
  listMarketplaceItems: endpoint({
    method: 'GET',
    path: `${base}/items`,
    auth: platform(),
    query: Paging.extend({ type: ItemType.optional(), category: ItemCategory.optional(), installed: z.enum(['true', 'false']).optional() }),
    returns: z.object({ items: z.array(TenantItem), nextCursor: z.string().nullable() }),
    summary: 'List published items, newest first, and whether they are installed',
    spec: '4.3',
  }),
  showMarketplaceItem: endpoint({
    method: 'GET',
    path: `${base}/items/:id`,
    auth: platform(),
    params: one,
    returns: Detail,
    summary: 'Show an item with its bundle and what an installation approves',
    spec: '4.3',
  }),
  listMarketplaceSubscriptions: endpoint({
    method: 'GET',
    path: `${base}/subscriptions`,
    auth: manage,
    returns: z.object({ subscriptions: z.array(Subscription) }),
    summary: 'List what this tenant installed, newest first, cancelled ones too',
    spec: '4.3',
  }),
  installMarketplaceItem: endpoint({
    method: 'POST',
    audit: 'marketplace.installed',
    path: `${base}/items/:id/install`,
    auth: manage,
    params: one,
    body: z
      .strictObject({
        priceCents: z
          .int()
          .nullable()
          .optional()
          .meta({ description: 'The price that the user was shown, null for free; required if it has one. CONFLICT if it changed' }),
        priceModel: PriceModel.nullable().optional().meta({ description: 'What it is a price of, as shown: CONFLICT if it changed' }),
        modulePriceCents: z.int().nullable().optional().meta({
          description:
            'An app: the price of its module that the user was shown, null for free; required if it has one. CONFLICT if it changed',
        }),
      })
      .prefault({}),
    returns: z.object({
      success: z.literal(true),
      status: z.literal('active'),
      subscription: Subscription,
      activation: z
        .object({ code: z.string(), message: z.string() })
        .nullable()
        .meta({ description: 'An app: why its module is not active yet; repeat the request to activate it' }),
    }),
    problems: [
      ...(['FORBIDDEN', 'ALREADY_INSTALLED', 'MODULE_NOT_REGISTERED', 'INCOMPATIBLE', 'FLAG_TAKEN', 'CONFLICT'] as const),
      ...(['VENDOR_INACTIVE', 'NO_PAYMENT_CUSTOMER', 'PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED'] as const),
    ],
    summary: 'Install an item: a flow is copied as a board, an app installs and activates its module',
    spec: '4.8',
  }),
  uninstallMarketplaceItem: endpoint({
    method: 'DELETE',
    audit: 'marketplace.uninstalled',
    path: `${base}/subscriptions/:id`,
    auth: manage,
    params: one,
    returns: z.object({ success: z.literal(true), status: z.literal('cancelled'), subscription: Subscription }),
    problems: ['CONFLICT'],
    summary: 'Uninstall an item; a copied board stays, a module is deactivated and its data kept for 30 days',
    spec: '3.5',
  }),
  updateMarketplaceItem: endpoint({
    method: 'POST',
    audit: 'marketplace.updated',
    path: `${base}/subscriptions/:id/update`,
    auth: manage,
    params: one,
    returns: z.object({ subscription: Subscription }),
    problems: ['FORBIDDEN', 'MODULE_NOT_REGISTERED', 'INCOMPATIBLE', 'FLAG_TAKEN', 'CONFLICT'],
    summary: 'Install the current version of an item; a flow is copied beside the old board',
  }),
} as const satisfies Contract
