import type { Clock } from '../../core/kit/index.ts'
import type { CommandJournal, CommandRecord } from '../journal/index.ts'
import type { ContainerEngine } from '../ports/index.ts'

type Deps = Readonly<{ engine: Pick<ContainerEngine, 'unpin'>; journal: Pick<CommandJournal, 'all'>; clock: Clock }>

/** A prefetch whose update has not come by then was for a rollout that somebody gave up: the next one brings its images again. */
const keptMs = 48 * 3_600_000

/**
 * Lets go of images that were brought for an update that never came; answers the boxes. What an open command, a box at rest or one that was
 * left open unproven may still need stays. Called again and again by one agent, it asks the engine once per prefetch.
 */
export function pinSweeper({ engine, journal, clock }: Deps): () => Promise<readonly string[]> {
  const over = new Set<string>()
  return async () => {
    const records = await journal.all()
    const before = clock.now().getTime() - keptMs
    const stale = records.filter((record) => !over.has(record.commandId) && isStalePrefetch(record, before))
    const free = stale.filter(({ slug }) => !records.some((record) => record.slug === slug && needsImages(record, before)))
    const slugs = [...new Set(free.map(({ slug }) => slug))]
    for (const slug of slugs) await engine.unpin(slug)
    for (const { commandId } of free) over.add(commandId)
    return slugs
  }
}

const isStalePrefetch = ({ kind, closed }: CommandRecord, before: number): boolean =>
  kind === 'tenant-box.prefetch' && closed !== null && Date.parse(closed.at) < before

function needsImages({ kind, closed }: CommandRecord, before: number): boolean {
  if (!closed) return true
  if (kind === 'tenant-box.prefetch') return Date.parse(closed.at) >= before
  const { outcome, leftOpen } = (closed.result ?? {}) as { outcome?: unknown; leftOpen?: unknown }
  return leftOpen === true || outcome === 'rollback_failed' || outcome === 'restore_failed'
}
