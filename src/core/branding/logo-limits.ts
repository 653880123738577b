/** The edge lets bodies of 1 MB pass. */
export const logoLimits = { bytes: 512 * 1024, minSide: 16, maxSide: 2048 } as const
