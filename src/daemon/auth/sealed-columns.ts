import type { SealedColumn } from '../sealed/index.ts'

/** What this room keeps sealed, for `tenantryd rekey`. */
export const authSealedColumns: readonly SealedColumn[] = [{ table: 'signing_keys', column: 'private_jwk', key: 'kid' }]
