import type { Clock } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import type { Command, CommandListener } from '../hosts/index.ts'
import { followWholeTenant } from './follow-in-chat.ts'

/** Whenever the data of a box went back in time, or may have, its chat is brought to what the platform says of its spaces. */
export function spacesListener({ clock }: Readonly<{ clock: Clock }>): CommandListener {
  const follow = async (tx: Tx, { boxId }: Command): Promise<void> => {
    const box = await tx.selectFrom('boxes').select('tenant_id').where('id', '=', boxId).executeTakeFirst()
    if (box) await followWholeTenant(tx, clock, box.tenant_id)
  }
  return {
    resultHandlers: {
      'tenant-box.restore': (tx, command, { outcome }) => (outcome === 'failed' ? nothing() : follow(tx, command)),
      'tenant-box.update': (tx, command, { rolledBack }) => (rolledBack ? follow(tx, command) : nothing()),
      'tenant-box.take_over': (tx, command, { outcome }) => (outcome === 'restored' ? follow(tx, command) : nothing()),
    },
  }
}

const nothing = async (): Promise<void> => undefined
