import { z } from 'zod'
import { parseWindow } from '../../core/wall-clock/index.ts'
import { MaintenanceWindow } from '../../core/windows/index.ts'

/** The window of a tier: as text such as `mon-fri 02:00-05:00`, as a list in the file, or `any`. */
export const TierWindow = z
  .preprocess((value, { addIssue }) => {
    if (typeof value !== 'string') return value
    if (value === 'any') return null
    try {
      return parseWindow(value)
    } catch (error) {
      addIssue({ code: 'custom', message: (error as Error).message })
      return z.NEVER
    }
  }, MaintenanceWindow.nullable())
  .default(null)
