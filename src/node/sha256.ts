import { createHash } from 'node:crypto'

/** The same as `sha256Hex`, by the machine's own code: for what is hashed with every step of every box. */
export const nativeSha256Hex = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
