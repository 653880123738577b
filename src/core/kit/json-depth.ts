/** The interpreter of modules parses and copies deeper values only until its stack ends. */
export const maxJsonLevels = 64

/** `value` was parsed from JSON. */
export const isTooDeep = (value: unknown, levels = maxJsonLevels): boolean =>
  typeof value === 'object' && value !== null && (levels === 0 || Object.values(value).some((one) => isTooDeep(one, levels - 1)))
