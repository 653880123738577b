import { adminSealedColumns } from '../admin/index.ts'
import { authSealedColumns } from '../auth/index.ts'
import { boxesSealedColumns } from '../boxes/index.ts'
import { homeserverSealedColumns } from '../homeserver/index.ts'
import { hostsSealedColumns } from '../hosts/index.ts'
import type { SealedColumn } from '../sealed/index.ts'

/** Every sealed column, as the rooms declare them. */
export const sealedColumns: readonly SealedColumn[] = [
  ...authSealedColumns,
  ...adminSealedColumns,
  ...boxesSealedColumns,
  ...hostsSealedColumns,
  ...homeserverSealedColumns,
]
