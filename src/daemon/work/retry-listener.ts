import type { Clock } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import type { Command, CommandListener } from '../hosts/index.ts'
import { retryChatQueues } from './queues.repo.ts'

/** The chat server of a box answers again after these: messages and locks do not wait as long again as it was in maintenance. */
export function chatRetryListener({ clock }: Readonly<{ clock: Clock }>): CommandListener {
  const retry = async (tx: Tx, { boxId }: Command): Promise<void> => {
    const box = await tx.selectFrom('boxes').select('tenant_id').where('id', '=', boxId).executeTakeFirst()
    if (box) await retryChatQueues(tx, clock, box.tenant_id)
  }
  return {
    resultHandlers: {
      'tenant-box.update': retry,
      'tenant-box.restore': retry,
      'tenant-box.take_over': retry,
      'tenant-box.take_back': retry,
      'tenant-box.maintenance': retry,
      'tenant-box.restart': retry,
      'tenant-box.restart_services': retry,
    },
  }
}
