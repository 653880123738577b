// Tenants: the organisations that the platform serves, with their plan, branding, feature flags and maintenance window.
// Decides which fields and changes are valid. The plan of a tenant sets its tier.
// Knows no box: boxes refer to their tenant.
export { FeatureFlags, SuspensionCause, Tenant, type TenantInFull, TenantStatus, tenantsContract } from './contract.ts'
export {
  active,
  afterPlanBegun,
  afterPlanEnded,
  afterResumedTime,
  isByPlanAlone,
  liftOf,
  resumed,
  type Standing,
  suspendedBy,
  tenantSuspended,
} from './suspension.ts'
