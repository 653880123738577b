import type { CommandRecord } from './journal.ts'
import { readRecord } from './record-text.ts'
import type { Shelf } from './shelf.ts'

/** What a journal holds, read beside the agent that keeps it: nothing is set aside, nothing forgotten, and what cannot be read is left out. */
export async function readRecords(shelf: Pick<Shelf, 'names' | 'read'>): Promise<readonly CommandRecord[]> {
  const texts = await Promise.all((await shelf.names()).map((name) => shelf.read(name).catch(() => '')))
  return texts.flatMap((text) => readRecord(text) ?? [])
}
