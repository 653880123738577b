import { z } from 'zod'
import { isTooDeep, maxJsonLevels } from '../kit/index.ts'

/** A value that was parsed from JSON: its members need no other check, which would cost more than to parse it. */
export const Json = z
  .unknown()
  .refine((value) => value !== undefined, 'is required')
  .refine((value) => !isTooDeep(value), `must not be nested deeper than ${maxJsonLevels} levels`)
