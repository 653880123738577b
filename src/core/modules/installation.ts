import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { InstallationStatus } from './lifecycle.ts'
import { Permission } from './permissions.ts'

const Price = z.object({ cents: z.int(), currency: z.string() }).nullable()

const Withdrawn = z.object({ reason: z.string() })

/** A module in the registry, with the installation of the caller's tenant. */
export const RegistryEntry = z.object({
  moduleId: z.string(),
  name: z.string(),
  version: z.string().meta({ description: 'The newest approved version' }),
  status: z.literal('active'),
  type: z.enum(['A', 'B']),
  featureFlag: z.string(),
  description: z.string(),
  permissions: z.array(Permission).meta({ description: 'Declared by the manifest; approve some or all of them' }),
  consent: z.array(z.string()).meta({ description: 'What an administrator agrees to by the installation; show it before' }),
  price: Price.meta({
    description: 'What the newest approved version costs a month; null for a free one. Show it before the installation',
  }),
  installation: z.object({ status: InstallationStatus, version: z.string() }).nullable(),
})
export type RegistryEntry = z.infer<typeof RegistryEntry>

const Rollback = z.object({
  version: z.string(),
  until: Timestamp,
  losesDataSince: Timestamp.nullable().meta({ description: 'Data of the module written since then is lost; null: nothing is lost' }),
})

/** Where the deliveries of events are. */
const Delivery = z.object({
  failingSince: Timestamp.nullable(),
  error: z.string().nullable(),
  skipped: z.int().meta({ description: 'Events that were skipped because the module was too far behind' }),
  skippedAt: Timestamp.nullable(),
})

export const Installation = z.object({
  moduleId: z.string(),
  name: z.string(),
  version: z.string(),
  type: z.enum(['A', 'B']),
  status: InstallationStatus,
  paused: z.boolean(),
  permissions: z.array(Permission).meta({ description: 'Approved: what a run may use' }),
  declaredPermissions: z.array(Permission),
  featureFlag: z.string(),
  apiPrefix: z.string(),
  installedAt: Timestamp,
  activatedAt: Timestamp.nullable(),
  data_delete_at: Timestamp.nullable(),
  dataBytes: z.int(),
  updateAvailable: z.string().nullable().meta({ description: 'The newest approved version, if it is greater' }),
  price: Price.meta({ description: 'What this version costs a month; null for a free one' }),
  updatePrice: Price.meta({
    description: 'What the version of `updateAvailable` costs a month; null for a free one, or without an update',
  }),
  withdrawn: Withdrawn.nullable().meta({ description: 'An operator withdrew this version: it runs nothing' }),
  rollback: Rollback.nullable(),
  remote: z.enum(['pending', 'confirmed']).nullable().meta({ description: 'Type B: whether its service confirmed the last change' }),
})
export type Installation = z.infer<typeof Installation>

export const InstallationDetails = Installation.extend({ delivery: Delivery.nullable() })

export const InstallationRun = z.object({
  id: z.string(),
  version: z.string(),
  kind: z.enum(['event', 'route', 'migration']),
  eventType: z.string().nullable(),
  cause: z.string().nullable(),
  depth: z.int(),
  deliveryId: z.string().nullable(),
  attempt: z.int(),
  status: z.string().meta({ description: '`done`, `failed`, `limit`, `dead`, `loop` or `conflict`' }),
  ms: z.int(),
  violations: z.array(z.object({ kind: z.string(), message: z.string() })),
  error: z.string().nullable(),
  log: z.array(z.string()),
  createdAt: Timestamp,
})

const performance = z.object({
  p95Ms: z.number(),
  p99Ms: z.number(),
  errorRate: z.number().meta({ description: 'Failed runs among all, 0 to 1' }),
  violations: z.array(z.object({ kind: z.string(), count: z.int() })),
  healthy: z.boolean().meta({ description: 'Errors under 5 %, p95 under 1 s and no violation in the last hour' }),
})

export const ModuleHealth = z.object({
  moduleId: z.string(),
  name: z.string(),
  version: z.string().meta({ description: 'The newest approved version' }),
  activeInstallations: z.int(),
  performance: performance.meta({ description: 'Of the last hour, all versions' }),
})
export type ModuleHealth = z.infer<typeof ModuleHealth>

const HealthPoint = performance.pick({ p95Ms: true, p99Ms: true, errorRate: true }).extend({ from: Timestamp, runs: z.int() })

/** Health with its course over the last hour. */
export const ModuleHealthDetail = ModuleHealth.extend({
  history: z.array(HealthPoint).meta({ description: 'Steps of 5 minutes, oldest first' }),
})
export type ModuleHealthDetail = z.infer<typeof ModuleHealthDetail>

/** A module as operators see it. */
export const OperatedModule = z.object({
  moduleId: z.string(),
  name: z.string(),
  version: z.string().meta({ description: 'The newest approved version' }),
  type: z.enum(['A', 'B']),
  featureFlag: z.string(),
  price: Price.meta({ description: 'What the newest approved version costs a tenant a month; null for a free one' }),
  status: z.enum(['active', 'withdrawn']).meta({ description: '`withdrawn`: no version can be installed' }),
  installations: z.int().meta({ description: 'All but those whose data was deleted' }),
  activeInstallations: z.int(),
  withdrawn: z.array(z.object({ version: z.string(), reason: z.string(), at: Timestamp })),
})
export type OperatedModule = z.infer<typeof OperatedModule>

export const ModuleAuditEntry = z.object({
  at: Timestamp,
  actor: z.string(),
  action: z.string(),
  moduleId: z.string(),
  version: z.string().nullable(),
  data: z.unknown(),
})
