import type { Clock, TenantId } from '../../core/kit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { Tx } from '../db/index.ts'

/** For a tenant whose box never came to be. Its domain is nobody's from then on, which every replica hears. */
export async function deleteTenant({ clock }: Readonly<{ clock: Clock }>, tx: Tx, id: TenantId): Promise<void> {
  await tx.deleteFrom('tenants').where('id', '=', id).execute()
  await publishRevocation(tx, clock, { kind: 'tenant', subject: id })
}
