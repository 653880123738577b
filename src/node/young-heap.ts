import { setFlagsFromString } from 'node:v8'

/**
 * What a program loads at its start outlives the next collection, so the young half of the heap would grow to its largest (2 × 16 MiB) for
 * that one time and give hardly any of it back. Called before anything is loaded, by the program's own file in `bin`.
 * @public
 */
export const keepYoungHeapSmall = (): void => setFlagsFromString('--semi-space-growth-factor=1')

/** From now on it grows with the work, as Node.js has it. Called once the program stands. */
export const letYoungHeapGrow = (): void => setFlagsFromString('--semi-space-growth-factor=2')
