import type { OwnWindow } from '../../core/windows/index.ts'
import type { TenantRow } from './tenants.tables.ts'

/** What a tenant's row says about when it may be disturbed. */
export const ownWindowOf = (row: Pick<TenantRow, 'time_zone' | 'maintenance_window'>): OwnWindow => ({
  timeZone: row.time_zone,
  maintenanceWindow: row.maintenance_window === null ? null : JSON.parse(row.maintenance_window),
})
