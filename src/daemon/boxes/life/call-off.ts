import { isFinal } from '../../../core/hosts/index.ts'
import type { Tx } from '../../db/index.ts'
import { commandsByIds, giveUpCommand } from '../../hosts/index.ts'
import type { LifeDeps } from './deps.ts'
import type { Move } from './moves.repo.ts'

/** Nobody is to begin the command any more. False when an agent may have begun it and that matters. */
export async function callOff({ clock }: Pick<LifeDeps, 'clock'>, tx: Tx, { commandId }: Move, which: 'untaken' | 'any'): Promise<boolean> {
  const [command] = await commandsByIds(tx, commandId === null ? [] : [commandId])
  if (!command) return true
  if (which === 'untaken' && command.leaseToken > 0) return false
  if (isFinal(command.status)) return true
  const error = { code: 'CANCELLED', message: 'the move was called off' }
  return giveUpCommand(tx, clock, { id: command.id, leaseToken: command.leaseToken, error })
}
