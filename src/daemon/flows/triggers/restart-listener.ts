import type { Clock } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command, CommandListener } from '../../hosts/index.ts'
import { restartReader } from './chat-readers.repo.ts'

/**
 * The token of a reader is invalid for restored data: reading continues with the newest messages. Those since the command began are among them:
 * clients send what waited for the end of the maintenance before the result arrives. A message that started a run starts none again.
 */
export function readerRestartListener({ clock }: Readonly<{ clock: Clock }>): CommandListener {
  const restart = async (tx: Tx, { boxId, startedAt, createdAt }: Command): Promise<void> => {
    const box = await tx.selectFrom('boxes').select('tenant_id').where('id', '=', boxId).executeTakeFirst()
    if (box) await restartReader(tx, clock, { tenantId: box.tenant_id, from: startedAt ?? createdAt })
  }
  const nothing = async (): Promise<void> => undefined
  return {
    resultHandlers: {
      'tenant-box.restore': (tx, command, { outcome }) => (outcome === 'failed' ? nothing() : restart(tx, command)),
      'tenant-box.update': (tx, command, { rolledBack }) => (rolledBack ? restart(tx, command) : nothing()),
      'tenant-box.take_over': (tx, command, { outcome }) => (outcome === 'restored' ? restart(tx, command) : nothing()),
    },
  }
}
