/** Characters of a reason that every endpoint takes; some take more. */
export const reasonLength = { min: 3, max: 300 } as const
