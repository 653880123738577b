import { z } from 'zod'
import { admin, type Contract, endpoint, Paging, platform } from '../contract/index.ts'
import {
  Installation,
  InstallationDetails,
  InstallationRun,
  ModuleAuditEntry,
  ModuleHealth,
  ModuleHealthDetail,
  OperatedModule,
  RegistryEntry,
} from './installation.ts'
import { SettingsSchema } from './settings.ts'

const base = '/api/platform/v1/modules'
const Id = z.string().min(1).max(100)
const Version = z.string().min(1).max(50)
const Permissions = z.array(z.string().max(100)).max(50)
const one = z.object({ moduleId: Id })

const verb = <const Name extends string, const Status extends z.ZodType>(name: Name, status: Status, summary: string) =>
  endpoint({
    method: 'POST',
    path: `${base}/installed/:moduleId/${name}`,
    auth: platform('manageModules'),
    params: one,
    returns: z.object({ success: z.literal(true), status }),
    problems: ['INVALID_TRANSITION', 'CONFLICT'],
    summary,
  })

const Settings = z.object({
  values: z.record(z.string(), z.unknown()),
  secrets: z.record(z.string(), z.boolean()).meta({ description: 'Names of secret settings; true: a value is stored' }),
  schema: SettingsSchema.nullable(),
})

/** Modules of a tenant (spec 4.3). */
export const modulesContract = {
  listRegistry: endpoint({
    method: 'GET',
    path: `${base}/registry`,
    auth: platform(),
    returns: z.object({ modules: z.array(RegistryEntry) }),
    summary: 'List all modules that can be installed, with the installation of your tenant',
    spec: '4.3',
  }),
  listInstallations: endpoint({
    method: 'GET',
    path: `${base}/installed`,
    auth: platform(),
    returns: z.object({ modules: z.array(Installation) }),
    summary: 'List the modules of your tenant, without those whose data was deleted',
    spec: '4.3',
  }),
  showInstallation: endpoint({
    method: 'GET',
    path: `${base}/installed/:moduleId`,
    auth: platform(),
    params: one,
    returns: InstallationDetails,
    summary: 'Show a module of your tenant',
    spec: '4.3',
  }),
  installModule: endpoint({
    method: 'POST',
    audit: 'module.installed',
    path: `${base}/install`,
    auth: platform('manageModules'),
    body: z.strictObject({
      moduleId: Id,
      approvedPermissions: Permissions.meta({ description: 'Some or all of the declared permissions; a run can use no other' }),
      modulePriceCents: z.int().nullable().optional().meta({
        description: 'The price that the user was shown, null for none; required for a module with a price. CONFLICT if it is another one',
      }),
    }),
    returns: z.object({ success: z.literal(true), status: z.literal('installed') }),
    problems: ['UNKNOWN_MODULE', 'PERMISSION_NOT_DECLARED', 'ALREADY_INSTALLED', 'INCOMPATIBLE', 'FLAG_TAKEN', 'CONFLICT'],
    summary: 'Install the newest approved version of a module',
    spec: '4.3',
  }),
  activateModule: endpoint({
    audit: 'module.activated',
    ...verb('activate', z.literal('active'), 'Activate a module: migrate its data, then run it'),
    problems: [
      ...(['INVALID_TRANSITION', 'CONFLICT', 'RETENTION_EXPIRED', 'FLAG_TAKEN'] as const),
      ...(['INCOMPATIBLE', 'MODULE_MIGRATION_FAILED', 'MODULE_SERVICE_FAILED', 'UNAVAILABLE'] as const),
    ],
    spec: '4.3',
  }),
  deactivateModule: endpoint({
    audit: 'module.deactivated',
    ...verb('deactivate', z.literal('deactivated'), 'Deactivate a module; its data is deleted after 30 days'),
    spec: '4.3',
  }),
  uninstallModule: endpoint({
    method: 'DELETE',
    audit: 'module.uninstalled',
    path: `${base}/installed/:moduleId`,
    auth: platform('manageModules'),
    params: one,
    returns: z.object({
      success: z.literal(true),
      status: z.literal('pending_deletion'),
      chargedSubscriptionId: z
        .string()
        .nullable()
        .meta({ description: 'A paid app with this module charges until DELETE …/marketplace/subscriptions/:id ends it' }),
    }),
    problems: ['INVALID_TRANSITION', 'CONFLICT'],
    summary: 'Uninstall a module; an active one is deactivated first, and its data is deleted after 30 days',
    spec: '4.3',
  }),
  updateModule: endpoint({
    method: 'POST',
    audit: 'module.updated',
    path: `${base}/installed/:moduleId/update`,
    auth: platform('manageModules'),
    params: one,
    body: z
      .strictObject({
        version: Version.optional().meta({ description: 'Default: the newest approved version' }),
        approvedPermissions: Permissions.optional().meta({ description: 'Required if the version declares more permissions' }),
        modulePriceCents: z
          .int()
          .nullable()
          .optional()
          .meta({ description: 'The price of the version that the user was shown, null for none; required if it is higher than before' }),
      })
      .default({}),
    returns: z.object({ success: z.literal(true), version: z.string(), permissions: z.array(z.string()) }),
    problems: [
      ...(['INVALID_TRANSITION', 'CONFLICT', 'UNKNOWN_MODULE', 'PERMISSIONS_CHANGED', 'PERMISSION_NOT_DECLARED'] as const),
      ...(['INCOMPATIBLE', 'FLAG_TAKEN', 'MODULE_MIGRATION_FAILED', 'UNAVAILABLE'] as const),
    ],
    summary: 'Update a module; 409 PERMISSIONS_CHANGED carries `added` and `removed`; a higher price is CONFLICT until it is sent',
  }),
  rollbackModule: endpoint({
    method: 'POST',
    audit: 'module.rolled_back',
    path: `${base}/installed/:moduleId/rollback`,
    auth: platform('manageModules'),
    params: one,
    returns: z.object({ success: z.literal(true), version: z.string(), losesDataSince: z.string().nullable() }),
    problems: ['INVALID_TRANSITION', 'CONFLICT', 'INCOMPATIBLE', 'FLAG_TAKEN'],
    summary: 'Return to the version before the last update, within 7 days; the answer says which data is lost',
  }),
  pauseModule: endpoint({
    audit: 'module.paused',
    ...verb('pause', z.literal('active'), 'Pause a module: it runs nothing, and keeps its data'),
  }),
  resumeModule: endpoint({ audit: 'module.resumed', ...verb('resume', z.literal('active'), 'Resume a paused module') }),
  showModuleSettings: endpoint({
    method: 'GET',
    path: `${base}/installed/:moduleId/settings`,
    auth: platform('manageModules'),
    params: one,
    returns: Settings,
    summary: 'Show the settings of a module; secret values are never shown',
  }),
  changeModuleSettings: endpoint({
    method: 'PUT',
    audit: 'module.settings-changed',
    path: `${base}/installed/:moduleId/settings`,
    auth: platform('manageModules'),
    params: one,
    body: z.strictObject({
      values: z.record(z.string().max(50), z.unknown()).meta({
        description: 'All settings; a secret that is missing stays as it is, and null removes it',
      }),
    }),
    returns: Settings,
    problems: ['INVALID_TRANSITION', 'CONFLICT'],
    summary: 'Replace the settings of a module',
  }),
  listModuleRuns: endpoint({
    method: 'GET',
    path: `${base}/installed/:moduleId/runs`,
    auth: platform('manageModules'),
    params: one,
    query: Paging,
    returns: z.object({ runs: z.array(InstallationRun), nextCursor: z.string().nullable() }),
    summary: 'List failed and recent runs of a module, newest first',
  }),
} as const satisfies Contract

const admins = '/api/admin/v1/modules'
const Operated = z.object({ id: Id })
const Withdrawal = z.object({ moduleId: z.string(), versions: z.array(z.string()) })

/** Modules for operators (spec 4.6). */
export const operatorModulesContract = {
  listModules: endpoint({
    method: 'GET',
    path: admins,
    auth: admin('viewer'),
    returns: z.object({ modules: z.array(OperatedModule) }),
    summary: 'List all approved modules with their installations and withdrawn versions',
  }),
  withdrawModule: endpoint({
    method: 'POST',
    audit: 'module.withdrawn',
    path: `${admins}/:id/withdraw`,
    auth: admin('operator'),
    params: Operated,
    body: z.strictObject({
      reason: z.string().trim().min(1).max(500).meta({ description: 'Shown to the tenants that have the module' }),
      version: Version.optional().meta({ description: 'Default: all approved versions' }),
    }),
    returns: Withdrawal.extend({ chargedApps: z.int().meta({ description: 'Installed paid apps with this module: they charge on' }) }),
    summary: 'Withdraw a module; it stops everywhere within a second',
  }),
  restoreModule: endpoint({
    method: 'POST',
    audit: 'module.restored',
    path: `${admins}/:id/restore`,
    auth: admin('operator'),
    params: Operated,
    body: z.strictObject({ version: Version.optional().meta({ description: 'Default: all withdrawn versions' }) }).default({}),
    returns: Withdrawal,
    summary: 'Restore a withdrawn module',
  }),
  listModuleHealth: endpoint({
    method: 'GET',
    path: '/api/admin/modules/health',
    auth: admin('viewer'),
    returns: z.object({ modules: z.array(ModuleHealth) }),
    summary: 'Health of all modules with an active installation',
    spec: '4.6',
  }),
  showModuleHealth: endpoint({
    method: 'GET',
    path: '/api/admin/modules/health/:moduleId',
    auth: admin('viewer'),
    params: one,
    returns: ModuleHealthDetail,
    summary: 'Health of a module, and its course over the last hour',
    spec: '4.6',
  }),
  listModuleAudit: endpoint({
    method: 'GET',
    path: '/api/admin/modules/audit/:tenantId',
    auth: admin('viewer'),
    params: z.object({ tenantId: Id.meta({ description: 'The id of a tenant, or its slug' }) }),
    query: z.strictObject({ moduleId: Id.optional(), limit: z.coerce.number().int().min(1).max(500).default(50) }),
    returns: z.object({ entries: z.array(ModuleAuditEntry) }),
    summary: 'Audit entries about the modules of a tenant, newest first',
    spec: '4.6',
  }),
} as const satisfies Contract
