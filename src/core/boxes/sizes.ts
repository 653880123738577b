import { z } from 'zod'

// The sizes of a box, one set a day.

/** Sizes of one day (UTC), as its agent reported them; null where it could not read one. */
export const BoxSizes = z.object({
  day: z.iso.date(),
  databaseBytes: z.number().nullable(),
  mediaBytes: z.number().nullable(),
  objectBytes: z.number().nullable(),
})
export type BoxSizes = z.infer<typeof BoxSizes>

export const sizesRetentionDays = 30

/** How a box grew. A box that shrank has negative bytes. */
export const BoxGrowth = z.object({
  bytes: z.number(),
  days: z.number().int().meta({ description: 'Days between the first and the last size' }),
  totalBytes: z.number().meta({ description: 'Database, media and objects at the last size' }),
})
export type BoxGrowth = z.infer<typeof BoxGrowth>
