import { createHash, randomBytes } from 'node:crypto'
import type { Random } from '../core/kit/index.ts'

/** The machine's own randomness, good enough for keys. */
export const systemRandom: Random = { bytes: (count) => new Uint8Array(randomBytes(count)) }

/** The same as `sha256Hex`, by the machine's own code: for what is hashed with every step of every box. */
export const nativeSha256Hex = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
