// Secrets at rest: what must be read back is sealed to its own row. It knows no room; rooms name table, row and column.

export { loadKeyring, readKeyring } from './key-file.ts'
export { isLinkToken, linkToken } from './link-token.ts'
export { opensAll, reseal, type SealedColumn, staleColumns } from './reseal.ts'
export { type Keyring, keyring, seal, unseal } from './seal.ts'
