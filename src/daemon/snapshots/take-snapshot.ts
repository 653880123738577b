import { type BoxCommandPayload, type BoxId, boxHeld, type SnapshotTaken, type UpdateResult } from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoIn, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type BoxRecord, boxById, existingBox, holdsOf, readHost } from '../boxes/index.ts'
import { appendEvent, type DbOrTx, type Tx } from '../db/index.ts'
import { type Command, enqueueCommand, type FailureHandlers, type ResultHandlers } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'

import { assertSnapshotsConfigured } from './snapshot-store.ts'

import { type NewSnapshot, recordSnapshot } from './snapshots.repo.ts'

/** Asks for a snapshot that a person wants, kept as such. Throws what a box that is not ready throws. */
export async function takeSnapshot(deps: SnapshotsDeps, actor: Actor, slug: string): Promise<{ commandId: string }> {
  const { db, clock, random, bus, deadlineMs } = deps
  const commandId = newId(random, 'cmd')
  const hostId = await db.transaction().execute(async (tx) => {
    const box = await getReadyBox(deps, tx, slug)
    const command = { id: commandId, hostId: box.hostId, boxId: box.id, deadlineMs: deadlineMs + queueGraceMs }
    await enqueueCommand(tx, clock, { ...command, kind: 'tenant-box.snapshot', payload: { ...boxAddress(box), tier: 'manual' } })
    await recordAudit(tx, clock, { actor, action: 'snapshot.take', subject: slug, data: { commandId } })
    return box.hostId
  })
  bus.queued(hostId)
  return { commandId }
}

/**
 * A box that can be snapshotted, restored or drilled now. Throws CONFIG, NOT_FOUND, CONFLICT (not ready yet), BOX_NOT_MANAGED, HOST_OFFLINE,
 * BOX_HELD.
 */
export async function getReadyBox(
  deps: Pick<SnapshotsDeps, 'clock' | 'staleAfterMs' | 'offlineAfterMs' | 'settings'>,
  db: DbOrTx,
  slug: string,
): Promise<BoxRecord> {
  assertSnapshotsConfigured(deps.settings)
  const box = await existingBox(db, slug)
  if (!box.live) throw problem('CONFLICT', `the box ${slug} is not ready yet: \`tenantry boxes show ${slug}\` tells why`)
  if (!box.managed) throw problem('BOX_NOT_MANAGED', `the box ${slug} is only observed: complete its adoption first`)
  const host = await readHost(deps, db, box.hostId)
  if (host?.status !== 'online')
    throw problem(
      'HOST_OFFLINE',
      `the host ${host?.name ?? box.hostId} of ${slug} is ${host?.status ?? 'gone'}: start its agent, try again`,
    )
  const hold = (await holdsOf(db, deps.clock, [box.id])).get(box.id)
  if (hold) throw boxHeld({ slug, ...hold })
  return box
}

/** How every command names its box. */
export const boxAddress = ({ slug, id, ownershipEpoch }: BoxRecord) => ({ slug, boxId: id, ownershipEpoch })

/** A command's own deadline is longer than the agent's: it counts from the asking, theirs from the beginning. */
export const queueGraceMs = 30 * 60_000

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
