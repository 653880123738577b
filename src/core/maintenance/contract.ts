import { z } from 'zod'
import { type Contract, endpoint, platform, Timestamp } from '../contract/index.ts'

/** `reverted`: the update took place and is taken back. */
export const MaintenanceStatus = z.enum(['planned', 'done', 'cancelled', 'reverted'])
export type MaintenanceStatus = z.infer<typeof MaintenanceStatus>

/** Maintenance that is to come, as the bootstrap document has it too. */
export const PlannedMaintenance = z.object({
  maintenanceId: z.string(),
  startsAt: Timestamp.nullable().meta({ description: 'At the earliest; null: it was put off, and the new time is not known' }),
  endsBy: Timestamp.nullable().meta({ description: 'The end of the maintenance window; null without one' }),
  expectedDowntimeMs: z.int().meta({ description: 'How long the chat is unavailable meanwhile' }),
  isMeasured: z.boolean().meta({ description: 'Measured at the last update of this chat server; false: an estimate' }),
})
export type PlannedMaintenance = z.infer<typeof PlannedMaintenance>

export const Maintenance = PlannedMaintenance.extend({
  status: MaintenanceStatus,
  isEmergency: z.boolean().meta({ description: 'A security fix: it is announced by the event alone' }),
  announcedAt: Timestamp,
  endedAt: Timestamp.nullable(),
  downtimeMs: z.int().nullable().meta({ description: 'As measured; null until then' }),
})
export type Maintenance = z.infer<typeof Maintenance>

export const maintenanceContract = {
  listMaintenance: endpoint({
    method: 'GET',
    path: '/api/platform/v1/maintenance',
    auth: platform(),
    returns: z.object({
      timeZone: z.string().meta({ description: 'By whose clock the maintenance windows of your organisation go' }),
      maintenance: z.array(Maintenance).meta({ description: 'Planned first, then the newest; at most 20' }),
    }),
    summary: 'List the maintenance of the chat server of your organisation: what is to come, and the last',
  }),
} as const satisfies Contract
