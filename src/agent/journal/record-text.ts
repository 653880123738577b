import type { CommandRecord, JournalEntry } from './command-record.ts'
import type { FileStore } from './file-store.ts'

// A record is a file of JSON lines: the command, its entries in order, then its result. Files are replaced atomically, so a torn line means a
// damaged disk; the lines before it are valid, and the steps observe the rest.

/** Escapes everything in a command id but dots and colons, so that an id is never a path. */
export const fileNameOf = (commandId: string): string => `${encodeURIComponent(commandId).replaceAll('*', '%2A')}.jsonl`

export function printRecord({ entries, closed, ...head }: CommandRecord): string {
  return [lineOf({ head }), ...entries.map(entryLine), ...(closed ? [lineOf({ closed })] : [])].join('')
}

const lineOf = (line: unknown): string => `${JSON.stringify(line)}\n`

/** Entries never change, and a record is printed again with each new one. */
const printed = new WeakMap<JournalEntry, string>()

function entryLine(entry: JournalEntry): string {
  const line = printed.get(entry) ?? lineOf({ entry })
  printed.set(entry, line)
  return line
}

type Line = { head?: Omit<CommandRecord, 'entries' | 'closed'>; entry?: JournalEntry; closed?: CommandRecord['closed'] }

/** Reads up to the first damaged line; undefined when the first line is damaged. */
export function readRecord(text: string): CommandRecord | undefined {
  const lines = wholeLines(text)
  const head = lines[0]?.head
  if (!head) return undefined
  return {
    ...head,
    entries: lines.flatMap(({ entry }) => entry ?? []),
    closed: lines.find(({ closed }) => closed)?.closed ?? null,
  }
}

function wholeLines(text: string): Line[] {
  const lines: Line[] = []
  for (const line of text.split('\n').filter((line) => line !== '')) {
    try {
      const read = JSON.parse(line) as Line | null
      if (read === null || typeof read !== 'object') break
      lines.push(read)
    } catch {
      break
    }
  }
  return lines
}

/** Reads another agent's journal without changing it; unreadable records are left out. */
export async function readRecords(store: Pick<FileStore, 'names' | 'read'>): Promise<readonly CommandRecord[]> {
  const texts = await Promise.all((await store.names()).map((name) => store.read(name).catch(() => '')))
  return texts.flatMap((text) => readRecord(text) ?? [])
}
