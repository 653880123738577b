import { type BoxCommandPayload, type BoxId, boxHeld, observedText, type SnapshotTaken, type UpdateResult } from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoIn, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type BoxRecord, boxById, existingBox, holdsOf, readHost } from '../boxes/index.ts'
import { appendEvent, type DbOrTx, type Tx, type WithTx } from '../db/index.ts'
import { type Command, enqueueCommand, type FailureHandlers, type ResultHandlers } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'

import { assertSnapshotsConfigured } from './snapshot-store.ts'

import { type NewSnapshot, recordSnapshot } from './snapshots.repo.ts'

/** Starts a manual snapshot. Throws what `getReadyBox` throws. */
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
 * The box, if it can be snapshotted, restored or drilled now. Throws CONFIG, NOT_FOUND, CONFLICT (not ready yet), BOX_NOT_MANAGED, HOST_OFFLINE,
 * BOX_HELD.
 */
export async function getReadyBox(
  deps: Pick<SnapshotsDeps, 'clock' | 'staleAfterMs' | 'offlineAfterMs' | 'settings'>,
  db: DbOrTx,
  slug: string,
): Promise<BoxRecord> {
  assertSnapshotsConfigured(deps.settings)
  const box = await existingBox(db, slug)
  if (!box.live) throw problem('CONFLICT', `box ${slug} is not ready yet. Reason: \`tenantry boxes show ${slug}\``)
  if (!box.managed) throw problem('BOX_NOT_MANAGED', observedText(slug))
  const host = await readHost(deps, db, box.hostId)
  if (host?.status !== 'online')
    throw problem(
      'HOST_OFFLINE',
      `host ${host?.name ?? box.hostId} of ${slug} is ${host?.status ?? 'gone'}. fix: start its agent, then retry`,
    )
  const hold = (await holdsOf(db, deps.clock, [box.id])).get(box.id)
  if (hold) throw boxHeld({ slug, ...hold })
  return box
}

/** The box fields of every command. */
export const boxAddress = ({ slug, id, ownershipEpoch }: BoxRecord) => ({ slug, boxId: id, ownershipEpoch })

/** Extra time of a command's deadline, which counts from its creation; the agent's counts from its start. */
export const queueGraceMs = 30 * 60_000

type Deps = Readonly<{ clock: Clock }> & Pick<SnapshotsDeps, 'versionsBefore'>

/** Registers the snapshot of a command together with its result. */
export const snapshotResults = (deps: Deps): ResultHandlers => ({
  // The tier comes from the command, not from the agent's result.
  'tenant-box.snapshot': (tx, command, { snapshot }) =>
    register({ ...deps, tx }, command, { ...takenFacts(snapshot), tier: tierOf(command) }),
  'tenant-box.hand_over': async (tx, command, { snapshot }) => {
    if (snapshot) await register({ ...deps, tx }, command, { ...takenFacts(snapshot), tier: 'final' })
  },
  'tenant-box.update': async (tx, command, result) => {
    const facts = updateFacts(deps, command, result)
    if (facts) await register({ ...deps, tx }, command, { ...facts, installed: await installedBefore(deps, tx, command) })
  },
})

export const snapshotFailures = ({ clock }: Pick<Deps, 'clock'>): FailureHandlers => ({
  'tenant-box.snapshot': async (tx, command) => {
    const payload = { ...(command.payload as { slug: string; tier: string }), commandId: command.id, error: command.error }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.failed', payload })
  },
})

const tierOf = ({ payload }: Command) => (payload as BoxCommandPayload<'tenant-box.snapshot'>).tier

export const boxOf = (tx: Tx, { boxId }: Pick<Command, 'boxId'>): Promise<BoxRecord | undefined> => boxById(tx, boxId as BoxId)

/** The command of a snapshot; the snapshot cannot be older than the command. */
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

// The snapshot was taken after the fence closed and after the command began. An early estimate is safe, because a restore counts everything after
// it as lost.
function updateFacts({ clock }: Pick<Deps, 'clock'>, command: Command, result: UpdateResult): NewSnapshot | undefined {
  const { snapshotOk, snapshotId, snapshotSha256, snapshotTakenAt, fencedMs, report } = result
  if (!snapshotOk || snapshotId === null) return undefined
  const now = clock.now().getTime()
  const reportedAt = Date.parse(report?.at ?? '')
  const ended = Number.isNaN(reportedAt) ? now : Math.min(reportedAt, now)
  // A box may have been unfenced long before its update ended. Both times are of its host's clock, so their difference is exact.
  const sinceMs = reportedAt - Date.parse(snapshotTakenAt ?? '')
  const takenAt = Math.max(
    ended - Math.max(fencedMs, Number.isNaN(sinceMs) ? 0 : sinceMs),
    Date.parse(command.startedAt ?? command.createdAt),
  )
  return { snapshotId, tier: 'pre-update', takenAt: isoIn(clock, takenAt - now), sha256: snapshotSha256 }
}

/** The versions before an update; its result has only those after it. */
async function installedBefore({ versionsBefore }: Deps, tx: Tx, { id }: Command): Promise<string | null> {
  const installed = await versionsBefore(tx, id)
  return installed && JSON.stringify(installed)
}

async function register({ clock, tx }: WithTx<Pick<Deps, 'clock'>>, command: Command, facts: NewSnapshot): Promise<void> {
  const box = await boxOf(tx, command)
  if (!box || !(await recordSnapshot({ tx, clock }, box, { ...facts, ...takenBy(command) }))) return
  const payload = { boxId: box.id, slug: box.slug, snapshotId: facts.snapshotId, tier: facts.tier, commandId: command.id }
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.taken', payload })
}
