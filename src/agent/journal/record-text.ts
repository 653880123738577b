import type { CommandRecord, JournalEntry } from './journal.ts'

// A record is a file of JSON lines: what the command is, its entries in order, and at last its result.
// Files are replaced whole, so a torn line is a damaged disk; what stands before it is still true, and the steps observe the rest.

/** Command ids hold dots and colons; anything else is escaped, so that an id is never a path. */
export const fileNameOf = (commandId: string): string => `${encodeURIComponent(commandId).replaceAll('*', '%2A')}.jsonl`

export function printRecord({ entries, closed, ...head }: CommandRecord): string {
  return [lineOf({ head }), ...entries.map(entryLine), ...(closed ? [lineOf({ closed })] : [])].join('')
}

const lineOf = (line: unknown): string => `${JSON.stringify(line)}\n`

/** An entry never changes, and its record is printed again with each that follows. */
const printed = new WeakMap<JournalEntry, string>()

function entryLine(entry: JournalEntry): string {
  const line = printed.get(entry) ?? lineOf({ entry })
  printed.set(entry, line)
  return line
}

type Line = { head?: Omit<CommandRecord, 'entries' | 'closed'>; entry?: JournalEntry; closed?: CommandRecord['closed'] }

/** Reads up to the first torn line; undefined when not even the first one is whole: then nobody may guess. */
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
