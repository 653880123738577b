import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the heap small during start-up, when most objects survive: the young generation otherwise grows to 2 × 16 MiB and hardly shrinks, and the
 * old one keeps what start-up needed (10 MiB of an idle daemon). Called by the file in `bin` before other modules load.
 * @public
 */
export const keepHeapSmall = (): void => {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--optimize-for-size')
}

/** Restores Node's default growth. Called after start-up. */
export const letHeapGrow = (): void => {
  setFlagsFromString('--semi-space-growth-factor=2')
  setFlagsFromString('--no-optimize-for-size')
}
