import { plural, problem } from '../../core/kit/index.ts'
import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { sealedColumns } from '../app/index.ts'
import { recordAudit } from '../audit/index.ts'
import { loadKeyring, reseal, staleColumns } from '../sealed/index.ts'
import { withInstallation } from './installation.ts'

/**
 * Re-seals all that older keys sealed. Put the new key in front of the list, restart the daemon, run this, then take the old key out.
 * Fails when anything in the database still needs an older key.
 */
export async function rekey(machine: Machine, options: Globals): Promise<undefined> {
  const resealed = await withInstallation(machine, options, async ({ config, db, clock, random, actor }) => {
    const keyring = await loadKeyring({ random }, config)
    const counts: Record<string, number> = {}
    for (const column of sealedColumns) counts[`${column.table}.${column.column}`] = await reseal({ db, random, keyring }, column)
    const stale = await staleColumns({ db, keyring })
    if (stale.length > 0)
      throw problem('SEALED_UNREADABLE', `${stale.join(', ')} still holds values of an older key: keep that key, and run this once more`)
    await db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action: 'secrets.resealed', data: counts }))
    return counts
  })
  const total = Object.values(resealed).reduce((sum, count) => sum + count, 0)
  const words =
    total === 0 ? 'everything was sealed with the first key already' : `sealed ${plural(total, 'secret')} anew; older keys may go`
  print(machine, options, { resealed }, words)
  return undefined
}
