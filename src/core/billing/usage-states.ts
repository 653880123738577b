/** In a file without schemas, which the console would load with them. */
export const usageKinds = ['users', 'module'] as const

export const usageStates = ['planned', 'reported', 'billed', 'unbilled', 'paid', 'refunded', 'void', 'waived'] as const
