import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the young generation small during start-up, when most objects survive; otherwise it grows to 2 × 16 MiB and hardly shrinks. Called by
 * the file in `bin` before other modules load.
 * @public
 */
export const keepYoungHeapSmall = (): void => setFlagsFromString('--semi-space-growth-factor=1')

/** Restores Node's default growth. Called after start-up. */
export const letYoungHeapGrow = (): void => setFlagsFromString('--semi-space-growth-factor=2')
