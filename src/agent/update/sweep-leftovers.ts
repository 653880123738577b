import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { type LocalBoxes, resolvedFacts } from '../boxes/index.ts'
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
    const volumes = copiesOf(record)
    const box = volumes.length === 0 ? undefined : await boxes.find(record.slug)
    const text = box && (await presentCompose(box))
    for (const volume of text ? volumes : []) {
      if (text?.includes(volume) || (await engine.volumePath(volume)) === undefined) continue
      await engine.removeVolume(volume)
      removed.push(volume)
    }
  }
  return removed
}

/** Also the volume of another major version of PostgreSQL that did not take the place of the former one. */
function copiesOf({ kind, closed, entries, commandId, payload }: CommandRecord): string[] {
  if (kind !== 'tenant-box.update' || !closed) return []
  const { outcome, leftOpen } = (closed.result ?? {}) as { outcome?: unknown; leftOpen?: unknown }
  const before = entries.findLast(({ step, mark }) => step === 'prefetch' && mark === 'done')?.data as Before | undefined
  if (isUndecided(outcome) || leftOpen === true || !before) return []
  const isUnused = outcome !== 'committed' && (payload as { fence?: { upgrade?: unknown } }).fence?.upgrade !== undefined
  return [1, ...(isUnused ? [0] : [])].map((number) => volumeOfTry({ context: { commandId } }, before.database.volume, number))
}

type FormerDeps = Readonly<{
  engine: Pick<ContainerEngine, 'volumePath' | 'removeVolume' | 'resolveCompose'>
  boxes: Pick<LocalBoxes, 'list'>
  journal: Pick<CommandJournal, 'open'>
  clock: Clock
}>

const everyMs = 3_600_000

/**
 * Removes the volumes that upgrades of PostgreSQL left behind, once their time is over. Returns them. Keeps one that a box runs on by its compose
 * file: somebody went back to it. The engine keeps one that a container has. Call it again and again: it works once an hour, and never while a
 * command runs.
 */
export function formerDatabaseSweeper(deps: FormerDeps): () => Promise<readonly string[]> {
  const { clock, journal } = deps
  let sweptAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (clock.monotonicMs() - sweptAtMs < everyMs || (await journal.open()).length > 0) return []
    sweptAtMs = clock.monotonicMs()
    return sweepFormerDatabases(deps)
  }
}

async function sweepFormerDatabases({ engine, boxes, clock }: FormerDeps): Promise<string[]> {
  const removed: string[] = []
  const now = isoNow(clock)
  for (const box of await boxes.list()) {
    for (const { volume, until } of box.formerDatabases ?? []) {
      if (until > now || (await engine.volumePath(volume)) === undefined) continue
      const { database } = await resolvedFacts({ engine }, box, await presentCompose(box))
      if (database === undefined || database.volume === volume) continue
      await engine.removeVolume(volume)
      removed.push(volume)
    }
  }
  return removed
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
