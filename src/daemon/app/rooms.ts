import type { AdminDeps } from '../admin/index.ts'
import type { FleetRooms } from './fleet-rooms.ts'
import type { cronsRoom } from './jobs.ts'
import type { alertsRoom, auditRoom } from './own-rooms.ts'
import type { TenantRooms } from './tenant-rooms.ts'

/** What each room stands on. */
export type Rooms = FleetRooms &
  TenantRooms &
  Readonly<{
    admin: AdminDeps
    alerts: ReturnType<typeof alertsRoom>
    audit: ReturnType<typeof auditRoom>
    crons: ReturnType<typeof cronsRoom>
  }>
