import { z } from 'zod'

/** The interpreter parses and copies deeper values only until its stack ends. */
export const maxJsonLevels = 64

/** `value` was parsed from JSON. */
export const isTooDeep = (value: unknown, levels = maxJsonLevels): boolean =>
  typeof value === 'object' && value !== null && (levels === 0 || Object.values(value).some((one) => isTooDeep(one, levels - 1)))

/** A value that was parsed from JSON: its members need no other check, which would cost more than to parse it. */
export const Json = z
  .unknown()
  .refine((value) => value !== undefined, 'is required')
  .refine((value) => !isTooDeep(value), `must not be nested deeper than ${maxJsonLevels} levels`)
