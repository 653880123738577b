import { questions } from '../../../core/boxes/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { type Command, commandsOfBox } from '../../hosts/index.ts'

const changeNothing: readonly string[] = [...questions, 'tenant-box.healthcheck']
const isOpen = ({ status }: Command): boolean => status === 'queued' || status === 'leased' || status === 'running'

/** The daemon gave up waiting for it, but an agent had it and has not said how it ended. */
const isUnheard = ({ status, leaseToken, heardAt, finishedAt }: Command): boolean =>
  status === 'expired' && leaseToken > 0 && !(heardAt !== null && finishedAt !== null && heardAt > finishedAt)

/** Commands that may be changing the box now, newest first. Of those nobody was heard of, only what came after the last that was. */
export async function openCommands(db: DbOrTx, boxId: string): Promise<Command[]> {
  const commands = await commandsOfBox(db, boxId, { except: changeNothing, limit: 20 })
  const told = commands.findIndex(({ status }) => status === 'succeeded' || status === 'failed')
  return commands.filter((command, at) => isOpen(command) || (isUnheard(command) && (told < 0 || at < told)))
}
