import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { days, isTimeOfDay, isTimeZone } from '../wall-clock/index.ts'

/** A name in the IANA time zone database. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be a time zone of the IANA database, such as Europe/Berlin')
  .meta({ description: 'Name in the IANA time zone database' })

const TimeOfDay = z.string().refine(isTimeOfDay, 'must be a time of day such as 02:00')

/** `to` at or before `from` is on the following day; `days` are those on which it opens. */
const WindowPart = z.strictObject({ days: z.array(z.enum(days)).min(1).max(7), from: TimeOfDay, to: TimeOfDay })

/** When work that users notice may be done, by the wall clock; parts that touch or overlap are one. */
export const MaintenanceWindow = z.array(WindowPart).min(1).max(20)
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>

/** A tenant's own: parts, or any time whatever its tier says. */
export const TenantWindow = z.union([z.literal('any'), MaintenanceWindow])
export type TenantWindow = z.infer<typeof TenantWindow>

/** A window as answers show it, with the opening at the moment or the next one. */
export const BoxWindow = z.object({
  window: MaintenanceWindow,
  timeZone: TimeZone,
  /** False when it is the default of the tenant's tier. */
  own: z.boolean(),
  /** In the past while it is open. */
  opensAt: Timestamp,
  closesAt: Timestamp,
})
export type BoxWindow = z.infer<typeof BoxWindow>
