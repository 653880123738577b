import { z } from 'zod'

/** What the plan, or the look at a box at its turn, may find. */
export const FindingCode = z.enum([
  'NOT_MANAGED',
  'NO_REPORT',
  'STALE_REPORT',
  'HOST_OFFLINE',
  'BOX_HELD',
  'BOX_FENCED',
  'VERSION_UNKNOWN',
  'DOWNGRADE',
  'POSTGRES_MAJOR',
  'MIGRATIONS_DIFFER',
])
export type FindingCode = z.infer<typeof FindingCode>

/** `refuse` keeps the box out until it is mended or waived; `warn` is told and goes on. */
export const Finding = z.object({ severity: z.enum(['refuse', 'warn']), code: FindingCode, message: z.string() })
export type Finding = z.infer<typeof Finding>
