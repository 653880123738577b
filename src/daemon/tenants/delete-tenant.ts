import type { TenantId } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { lookAgain } from '../sessions/index.ts'

/** For a tenant whose box never came to be. Its domain is nobody's from then on, which every replica hears. */
export async function deleteTenant({ clock }: Readonly<{ clock: Clock }>, tx: Tx, id: TenantId): Promise<void> {
  await tx.deleteFrom('tenants').where('id', '=', id).execute()
  await lookAgain(tx, clock, { kind: 'tenant', id })
}
