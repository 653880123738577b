import { createHash, randomBytes } from 'node:crypto'
import type { Random } from '../core/kit/index.ts'

/** Cryptographically secure randomness. */
export const systemRandom: Random = { bytes: (count) => new Uint8Array(randomBytes(count)) }

/** Native `sha256Hex`, for hot paths. */
export const nativeSha256Hex = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
