import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/kit/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import { presentCompose, volumeOfTry } from '../change/index.ts'
import type { CommandJournal, CommandRecord } from '../journal/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import type { Before } from './update-run.ts'

type WorkDeps = Readonly<{ journal: CommandJournal; workFolder: string }>

/**
 * Removes dumps of finished commands when the agent starts: they hold everything that users wrote. The dump of a failed rollback stays as long as
 * its record in the journal, and one with a damaged record stays. Folders that are not named after a command are ignored.
 */
export async function sweepWork({ journal, workFolder }: WorkDeps): Promise<readonly string[]> {
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
    return decodeURIComponent(name.replace(/\.(restored|copied|logs)$/, ''))
  } catch {
    return undefined
  }
}

async function isNeeded(journal: CommandJournal, commandId: string): Promise<boolean> {
  const record = await journal.find(commandId)
  if (!record) return journal.isDamaged(commandId)
  return !record.closed || isUndecided((record.closed.result as { outcome?: string } | null)?.outcome)
}

/** A person must decide about the box, and may need what the command left. */
const isUndecided = (outcome: unknown): boolean => outcome === 'rollback_failed' || outcome === 'restore_failed'

type CopyDeps = Readonly<{
  engine: Pick<ContainerEngine, 'volumePath' | 'removeVolume'>
  journal: Pick<CommandJournal, 'all'>
  boxes: Pick<LocalBoxes, 'find'>
}>

/**
 * Removes copies of databases that updates left when they ended, as where the engine did not answer. Returns their volumes. Keeps one that a box
 * runs on, and one that a person may need.
 */
export async function sweepCopies({ engine, journal, boxes }: CopyDeps): Promise<readonly string[]> {
  const removed: string[] = []
  for (const record of await journal.all()) {
    const volume = copyOf(record)
    const box = volume === undefined ? undefined : await boxes.find(record.slug)
    const text = box && (await presentCompose(box))
    if (volume === undefined || !text || text.includes(volume) || (await engine.volumePath(volume)) === undefined) continue
    await engine.removeVolume(volume)
    removed.push(volume)
  }
  return removed
}

function copyOf({ kind, closed, entries, commandId }: CommandRecord): string | undefined {
  if (kind !== 'tenant-box.update' || !closed) return undefined
  const { outcome, leftOpen } = (closed.result ?? {}) as { outcome?: unknown; leftOpen?: unknown }
  const before = entries.findLast(({ step, mark }) => step === 'prefetch' && mark === 'done')?.data as Before | undefined
  return isUndecided(outcome) || leftOpen === true || !before
    ? undefined
    : volumeOfTry({ context: { commandId } }, before.database.volume, 1)
}

type PinDeps = Readonly<{ engine: Pick<ContainerEngine, 'unpin'>; journal: Pick<CommandJournal, 'all'>; clock: Clock }>

/** A prefetch whose update has not come by then belongs to an abandoned rollout. */
const maxAgeMs = 48 * 3_600_000

/**
 * Unpins images that were pulled for an update that never came; returns the boxes. Keeps what an open command, a quarantined box or one that was
 * left open may need. Call it again and again; it asks the engine once per prefetch.
 */
export function pinSweeper({ engine, journal, clock }: PinDeps): () => Promise<readonly string[]> {
  const swept = new Set<string>()
  return async () => {
    const records = await journal.all()
    const before = clock.now().getTime() - maxAgeMs
    const stale = records.filter((record) => !swept.has(record.commandId) && isStalePrefetch(record, before))
    const free = stale.filter(({ slug }) => !records.some((record) => record.slug === slug && needsImages(record, before)))
    const slugs = [...new Set(free.map(({ slug }) => slug))]
    for (const slug of slugs) await engine.unpin(slug)
    for (const { commandId } of free) swept.add(commandId)
    return slugs
  }
}

const isStalePrefetch = ({ kind, closed }: CommandRecord, before: number): boolean =>
  kind === 'tenant-box.prefetch' && closed !== null && Date.parse(closed.at) < before

function needsImages({ kind, closed }: CommandRecord, before: number): boolean {
  if (!closed) return true
  if (kind === 'tenant-box.prefetch') return Date.parse(closed.at) >= before
  const { outcome, leftOpen } = (closed.result ?? {}) as { outcome?: unknown; leftOpen?: unknown }
  return leftOpen === true || isUndecided(outcome)
}
