import type { DisownedBox } from '../../core/hosts/index.ts'
import type { CommandJournal } from '../journal/index.ts'
import { type DisownNeeds, disownBox } from '../move/index.ts'

/** Stops a box that is another host's by now. What was begun on it is over: whoever starts next must not go on with it. */
export async function giveUpBox(needs: DisownNeeds & Readonly<{ journal: CommandJournal }>, box: DisownedBox): Promise<boolean> {
  const stopped = await disownBox(needs, box)
  if (!stopped) return false
  for (const { commandId, payload } of await needs.journal.open())
    if ((payload as { boxId?: unknown }).boxId === box.boxId) await needs.journal.close(commandId, null)
  return true
}
