import { z } from 'zod'
import { type Contract, empty, endpoint, platform, Timestamp } from '../contract/index.ts'
import { isVisible, visiblePattern } from '../kit/index.ts'
import { ModuleCategory, ModuleManifest } from '../modules/index.ts'
import { storeReviewer } from './reviewer.ts'

const base = '/api/platform/v1/store'

const ModuleKey = z.string().regex(/^[a-z][a-z0-9-]{2,49}$/, 'must be the id of a module')

export const CatalogueQuery = z.strictObject({
  category: ModuleCategory.optional(),
  search: z
    .string()
    .max(100)
    .refine(
      (text) => text === '' || (text.trim() !== '' && isVisible(text.trim())),
      'must contain a visible character and no control characters',
    )
    .optional()
    .meta({ description: 'A part of name or id, in any case', pattern: `^$|${visiblePattern}` }),
  sort: z.enum(['popular', 'newest', 'rating']).default('popular'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  offset: z.coerce.number().int().min(0).max(100_000).default(0),
})
export type CatalogueQuery = Readonly<z.infer<typeof CatalogueQuery>>

const { name, version, type, description, category, author, billing } = ModuleManifest.shape

const StoreItem = z.object({
  ...{ name, version, type, description, category, author, billing },
  moduleId: z.string(),
  rating: z.object({ average: z.number().meta({ description: '0 without a rating' }), count: z.int() }),
  installations: z.int().meta({ description: 'Tenants that have the module installed or active' }),
  installed: z
    .object({ status: z.enum(['installed', 'active', 'deactivated', 'pending_deletion']), version: z.string() })
    .nullable()
    .meta({ description: 'The installation of your tenant' }),
})
export type StoreItem = Readonly<z.infer<typeof StoreItem>>

const Rating = z.object({
  id: z.string(),
  rating: z.int().min(1).max(5),
  comment: z.string().nullable(),
  createdAt: Timestamp,
})
export type Rating = Readonly<z.infer<typeof Rating>>

/** Lines of text, without other control characters and those that turn or hide text. */
const commentPattern =
  '^[^\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff]*$'

export const NewRating = z.strictObject({
  rating: z.int().min(1).max(5),
  comment: z.string().max(2000).trim().regex(new RegExp(commentPattern), 'must not contain control characters').optional(),
})
export type NewRating = Readonly<z.infer<typeof NewRating>>

export const catalogueContract = {
  listStoreModules: endpoint({
    method: 'GET',
    path: `${base}/modules`,
    auth: platform(),
    query: CatalogueQuery,
    returns: z.object({ modules: z.array(StoreItem), total: z.int() }),
    summary: 'List modules of the store',
    spec: '4.3',
  }),
  showStoreModule: endpoint({
    method: 'GET',
    path: `${base}/modules/:moduleId`,
    auth: platform(),
    params: z.object({ moduleId: ModuleKey }),
    returns: StoreItem.extend({
      manifest: ModuleManifest,
      checksum: z.string().meta({ description: 'SHA-256 of the package, hex' }),
      approvedAt: Timestamp,
      ratings: z.array(Rating).meta({ description: 'The last 20' }),
    }),
    summary: 'Show a module of the store with its manifest and last ratings',
    spec: '4.3',
  }),
  listStoreCategories: endpoint({
    method: 'GET',
    path: `${base}/categories`,
    auth: platform(),
    returns: z.object({ categories: z.array(ModuleCategory) }),
    summary: 'List the categories of the store',
    spec: '4.3',
  }),
  rateModule: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: `${base}/modules/:moduleId/ratings`,
    auth: platform(),
    params: z.object({ moduleId: ModuleKey }),
    body: NewRating,
    returns: Rating,
    status: 201,
    problems: ['FORBIDDEN', 'NOT_FOUND'],
    summary: 'Rate a module that your tenant has installed; a second rating replaces the first',
    spec: '4.3',
  }),
  removeRatingComment: endpoint({
    method: 'DELETE',
    audit: 'store.comment-removed',
    path: `${base}/admin/ratings/:id/comment`,
    auth: storeReviewer,
    params: z.object({ id: z.string().min(1).max(100) }),
    returns: empty,
    summary: 'Remove the comment of a rating; its stars stay',
  }),
} as const satisfies Contract
