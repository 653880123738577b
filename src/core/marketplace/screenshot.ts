import { z } from 'zod'

export const Screenshot = z.object({
  id: z.string(),
  contentType: z.string(),
  bytes: z.int(),
  width: z.int(),
  height: z.int(),
})
export type Screenshot = Readonly<z.infer<typeof Screenshot>>

export const maxScreenshotBytes = 1024 * 1024
/** Screenshots of one submission. */
export const maxScreenshots = 6
export const screenshotSides = { minSide: 100, maxSide: 4096 } as const
