import type { SealedColumn } from '../sealed/index.ts'

/** What this room keeps sealed, for `tenantryd rekey`. */
export const adminSealedColumns: readonly SealedColumn[] = [{ table: 'admin_accounts', column: 'totp_secret', key: 'id' }]
