import { canonicalJson } from '../kit/index.ts'

/** The head of a chain at a time, signed by a key that the database does not hold: whoever rewrites the log later cannot rewrite this. */
export type Checkpoint = Readonly<{ chain: string; count: number; hash: string; at: string; keyId: string; signature: string }>

/** The bytes that are signed. */
export const checkpointText = ({ chain, count, hash, at }: Pick<Checkpoint, 'chain' | 'count' | 'hash' | 'at'>): string =>
  canonicalJson({ chain, count, hash, at })
