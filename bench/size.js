/**
 * `TENANTRY_BENCH=quick` measures as little as shows that a benchmark still runs. Its figures mean nothing, so nothing is reached or missed.
 * The variable reaches the processes that a benchmark starts.
 */
export const isQuick = process.env.TENANTRY_BENCH === 'quick'

/**
 * @template T
 * @param {T} whole
 * @param {T} quick
 */
export const sized = (whole, quick) => (isQuick ? quick : whole)
