import type { BoxCommandPayload, BoxId, SnapshotTaken, UpdateResult } from '../../core/boxes/index.ts'
import { type Clock, isoIn } from '../../core/kit/index.ts'
import { type BoxRecord, boxById } from '../boxes/index.ts'
import { appendEvent, type Tx } from '../db/index.ts'
import type { Command, FailureHandlers, ResultHandlers } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { type NewSnapshot, recordSnapshot } from './snapshots.repo.ts'

type Deps = Readonly<{ clock: Clock }> & Pick<SnapshotsDeps, 'versionsBefore'>

/** Every snapshot that a command brought stands in the registry as soon as its result does. */
export const snapshotResults = (deps: Deps): ResultHandlers => ({
  // How long it is kept is decided by who asked for it, not by who took it.
  'tenant-box.snapshot': (tx, command, { snapshot }) => take(deps, tx, command, { ...takenFacts(snapshot), tier: tierAsked(command) }),
  'tenant-box.hand_over': (tx, command, { snapshot }) => take(deps, tx, command, { ...takenFacts(snapshot), tier: 'final' }),
  'tenant-box.update': async (tx, command, result) => {
    const facts = updateFacts(deps, command, result)
    if (facts) await take(deps, tx, command, { ...facts, installed: await installedBefore(deps, tx, command) })
  },
})

export const snapshotFailures = ({ clock }: Pick<Deps, 'clock'>): FailureHandlers => ({
  'tenant-box.snapshot': async (tx, command) => {
    const payload = { ...(command.payload as { slug: string; tier: string }), commandId: command.id, error: command.error }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.failed', payload })
  },
})

const tierAsked = ({ payload }: Command) => (payload as BoxCommandPayload<'tenant-box.snapshot'>).tier

export const boxOf = (tx: Tx, { boxId }: Pick<Command, 'boxId'>): Promise<BoxRecord | undefined> => boxById(tx, boxId as BoxId)

/** No command takes a snapshot before it was asked for. */
export const takenBy = ({ id, createdAt }: Command) => ({ command_id: id, notBefore: createdAt })

export const takenFacts = (taken: SnapshotTaken): NewSnapshot => ({
  snapshotId: taken.snapshotId,
  tier: taken.tier,
  takenAt: taken.takenAt,
  sha256: taken.snapshotSha256,
  added_bytes: Math.round(taken.addedBytes),
  files: taken.files,
  duration_ms: Math.round(taken.durationMs),
  installed: JSON.stringify(taken.installed),
})

// An update tells when it ended, not when its snapshot was taken: that was as the fence closed, and not before the command was taken up.
// Rather too early than too late, because what came after it counts as lost by a restore.
function updateFacts({ clock }: Pick<Deps, 'clock'>, command: Command, result: UpdateResult): NewSnapshot | undefined {
  const { snapshotOk, snapshotId, snapshotSha256, snapshotTakenAt, fencedMs, report } = result
  if (!snapshotOk || snapshotId === null) return undefined
  const now = clock.now().getTime()
  const said = Date.parse(report?.at ?? '')
  const ended = Number.isNaN(said) ? now : Math.min(said, now)
  // A box may have been open for long when its update ended. Both times are by the clock of its host: what lies between them is true.
  const sinceMs = said - Date.parse(snapshotTakenAt ?? '')
  const takenAt = Math.max(
    ended - Math.max(fencedMs, Number.isNaN(sinceMs) ? 0 : sinceMs),
    Date.parse(command.startedAt ?? command.createdAt),
  )
  return { snapshotId, tier: 'pre-update', takenAt: isoIn(clock, takenAt - now), sha256: snapshotSha256 }
}

/** An update tells what it made of the box, not what was there before. */
async function installedBefore({ versionsBefore }: Deps, tx: Tx, { id }: Command): Promise<string | null> {
  const installed = await versionsBefore(tx, id)
  return installed && JSON.stringify(installed)
}

async function take({ clock }: Pick<Deps, 'clock'>, tx: Tx, command: Command, facts: NewSnapshot): Promise<void> {
  const box = await boxOf(tx, command)
  if (!box || !(await recordSnapshot(tx, clock, box, { ...facts, ...takenBy(command) }))) return
  const payload = { boxId: box.id, slug: box.slug, snapshotId: facts.snapshotId, tier: facts.tier, commandId: command.id }
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.taken', payload })
}
