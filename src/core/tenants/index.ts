// Who the platform serves. A tenant's plan decides its tier, its slug names its live box.
// It decides nothing about boxes: those point at their tenant.
export { Branding, FeatureFlags, Tenant, type TenantInFull, TenantStatus, tenantsContract } from './contract.ts'
