import { randomBytes } from 'node:crypto'
import type { Random } from '../core/kit/index.ts'

/** The machine's own randomness, good enough for keys. */
export const systemRandom: Random = { bytes: (count) => new Uint8Array(randomBytes(count)) }
