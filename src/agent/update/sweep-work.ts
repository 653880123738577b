import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandJournal } from '../journal/index.ts'

type Deps = Readonly<{ journal: CommandJournal; workFolder: string }>

/**
 * Removes dumps whose update is over, when the agent starts: they hold everything that people wrote. What stays is what an open update or a
 * person still needs: the dump of a way back that failed goes with its record in the journal, and one whose record is damaged stays. What no
 * command is named like is not ours, and must not keep the agent from its boxes.
 */
export async function sweepWork({ journal, workFolder }: Deps): Promise<readonly string[]> {
  const removed: string[] = []
  for (const name of await readdir(workFolder).catch(() => [])) {
    const commandId = commandOf(name)
    if (commandId === undefined || (await isNeeded(journal, commandId))) continue
    await rm(join(workFolder, name), { recursive: true, force: true })
    removed.push(name)
  }
  return removed
}

function commandOf(name: string): string | undefined {
  try {
    return decodeURIComponent(name.replace(/\.restored$/, ''))
  } catch {
    return undefined
  }
}

async function isNeeded(journal: CommandJournal, commandId: string): Promise<boolean> {
  const record = await journal.find(commandId)
  if (!record) return journal.isDamaged(commandId)
  return !record.closed || needsAPerson((record.closed.result as { outcome?: string } | null)?.outcome)
}

const needsAPerson = (outcome: string | undefined): boolean => outcome === 'rollback_failed' || outcome === 'restore_failed'
