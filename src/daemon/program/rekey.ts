import { plural, problem } from '../../core/kit/index.ts'
import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { sealedColumns } from '../app/index.ts'
import { recordAudit } from '../audit/index.ts'
import { loadKeyring, reseal, staleColumns } from '../sealed/index.ts'
import { withInstallation } from './installation.ts'

/**
 * Re-encrypts all secrets of older keys. Put the new key first, restart the daemon, run this, then remove the old key.
 * Fails while the database still has values of an older key.
 */
export async function rekey(machine: Machine, options: Globals): Promise<undefined> {
  const resealed = await withInstallation(machine, options, async ({ config, db, clock, random, actor }) => {
    const keyring = await loadKeyring({ random }, config)
    const counts: Record<string, number> = {}
    for (const column of sealedColumns) counts[`${column.table}.${column.column}`] = await reseal({ db, random, keyring }, column)
    const stale = await staleColumns({ db, keyring })
    if (stale.length > 0)
      throw problem('SEALED_UNREADABLE', `${stale.join(', ')} still has values of an older key. fix: keep that key and run rekey again`)
    await db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action: 'secrets.resealed', data: counts }))
    return counts
  })
  const total = Object.values(resealed).reduce((sum, count) => sum + count, 0)
  const words = total === 0 ? 'all secrets use the first key already' : `re-encrypted ${plural(total, 'secret')}; older keys can be removed`
  print(machine, options, { result: { resealed }, words })
  return undefined
}
