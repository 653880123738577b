import { alertKey, firstOf, reasonText } from '../../core/alerts/index.ts'
import type { AgentError, BoxCommandKind } from '../../core/boxes/index.ts'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { appendEvent, lockExclusive, type Tx, type WithTx } from '../db/index.ts'
import { type Command, type CommandListener, hostById } from '../hosts/index.ts'
import { reachesStore, type SnapshotSettings } from './snapshot-store.ts'
import { lockRepository, repositoryRow, type SnapshotOwner } from './snapshots.repo.ts'
import { boxOf } from './take-snapshot.ts'

// A store that is gone is not an empty store: its snapshots become `missing`, an alert is raised at once, and no agent creates a repository in
// its place until the store is back or an operator has abandoned its snapshots.

/** Where a repository is: all in one bucket, or those of a host in its folder. They are lost together, so they share an alert. */
type Place = Readonly<{ key: string; subject: string }>

export const bucket: Place = { key: 'bucket', subject: 'snapshots' }

const lostKey = (place: string): string => alertKey('snapshot_store_lost', place)

/** Repositories that share an alert are lost and come back one after the other, or the alert of the last two would stay open. */
const lostStores = 'snapshot-stores-lost'

type Lost = Readonly<{ owner: SnapshotOwner; place: Place; error: AgentError }>

export const isLost = (error: AgentError | null | undefined): error is AgentError => error?.code === 'SNAPSHOT_STORE_LOST'

/** Marks the snapshots of a repository that is gone as missing, and raises the alert of its store. */
export async function recordStoreLost({ tx, clock }: WithTx<{ clock: Clock }>, { owner, place, error }: Lost): Promise<void> {
  const { tenantId } = owner
  await lockRepository(tx, tenantId)
  await lockExclusive(tx, lostStores)
  const { lost_at, lost_place } = await repositoryRow(tx, tenantId)
  await tx
    .updateTable('snapshot_repositories')
    .set({ lost_at: lost_at ?? isoNow(clock), lost_place: place.key })
    .where('tenant_id', '=', tenantId)
    .execute()
  // `damaged_by` stays for the return.
  const gone = await tx
    .updateTable('snapshots')
    .set({ status: 'missing' })
    .where('tenant_id', '=', tenantId)
    .where('status', 'in', ['present', 'damaged'])
    .returning('snapshot_id')
    .execute()
  const boxes = await slugsLostAt(tx, place.key)
  await raiseAlert(tx, clock, {
    kind: 'snapshot_store_lost',
    key: lostKey(place.key),
    subject: place.subject,
    title: boxes.length > 1 ? `Snapshots of ${boxes.length} boxes are gone` : `${boxes[0] ?? 'no box'}: all snapshots are gone`,
    body:
      `The repositories cannot be found any more: ${firstOf(boxes)}. ${reasonText(error)}\n` +
      'The boxes serve their users. Until the store is back, no snapshot is taken and no box is updated or restored; nothing is created in its place. ' +
      'Bring it back, then run the check: it finds the snapshots again. If it is lost for good: `tenantry snapshots abandon <slug> --reason …`.',
    command: 'tenantry crons run snapshot-check',
    standing: true,
  })
  if (lost_place !== place.key) await closeUnlessLost({ tx, clock }, lost_place, `its repositories are expected at ${place.subject} now`)
  if (lost_at !== null) return
  const payload = { boxId: owner.id, slug: owner.slug, snapshots: gone.length, error }
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.store_lost', payload })
}

/** The repository was read again, or its snapshots were abandoned. */
export async function recordStoreBack({ tx, clock }: WithTx<{ clock: Clock }>, owner: SnapshotOwner, because: string): Promise<void> {
  if (!(await forgetLostStore({ tx, clock }, owner.tenantId, because))) return
  const payload = { boxId: owner.id, slug: owner.slug }
  await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.store_back', payload })
}

/** No repository is missed any more. Returns false for one that was not. */
export async function forgetLostStore({ tx, clock }: WithTx<{ clock: Clock }>, tenantId: string, because: string): Promise<boolean> {
  if ((await repositoryRow(tx, tenantId)).lost_at === null) return false
  await lockExclusive(tx, lostStores)
  const { lost_at, lost_place } = await repositoryRow(tx, tenantId)
  if (lost_at === null) return false
  await tx.updateTable('snapshot_repositories').set({ lost_at: null, lost_place: null }).where('tenant_id', '=', tenantId).execute()
  await closeUnlessLost({ tx, clock }, lost_place, because)
  return true
}

/** Closes the alert of a place where no repository is gone any more. */
async function closeUnlessLost({ tx, clock }: WithTx<{ clock: Clock }>, place: string | null, because: string): Promise<void> {
  if (place === null) return
  const lost = tx.selectFrom('snapshot_repositories').select('tenant_id').where('lost_place', '=', place)
  if ((await lost.executeTakeFirst()) === undefined) await closeAlerts(tx, clock, { keys: [lostKey(place)], because })
}

/** Slugs of the boxes whose repositories are gone there, in order, with or without snapshots. */
async function slugsLostAt(tx: Tx, place: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('snapshot_repositories')
    .innerJoin('boxes', 'boxes.tenant_id', 'snapshot_repositories.tenant_id')
    .where('lost_place', '=', place)
    .select('boxes.slug')
    .distinct()
    .orderBy('boxes.slug')
    .execute()
  return rows.map(({ slug }) => slug)
}

/** The first report counts: a later one could be of another repository at the same address. */
export async function recordRepositoryId(tx: Tx, tenantId: string, repositoryId: string): Promise<void> {
  await lockRepository(tx, tenantId)
  await tx
    .updateTable('snapshot_repositories')
    .set({ repository_id: repositoryId })
    .where('tenant_id', '=', tenantId)
    .where('repository_id', 'is', null)
    .execute()
}

type ListenerDeps = Readonly<{ clock: Clock; settings: Pick<SnapshotSettings, 'snapshotStore'> }>

/** Commands that use a repository. A take-over is none of them: the repository may be missing on its new host alone. */
const kinds: readonly BoxCommandKind[] = [
  'tenant-box.snapshot',
  'tenant-box.prefetch',
  'tenant-box.update',
  'tenant-box.restore',
  'tenant-box.drill',
  'tenant-box.hand_over',
  'tenant-box.tend_snapshots',
  'tenant-box.recover',
]

/** Handles a lost repository that an agent reports with any command, and its return. */
export function storeListener({ clock, settings }: ListenerDeps): CommandListener {
  const lost = async (tx: Tx, command: Command, error: AgentError | null | undefined) => {
    const owner = isLost(error) ? await boxOf(tx, command) : undefined
    if (!owner || !isLost(error)) return
    // The folder of another host, to which a box is recovered, says nothing about that of its own.
    if (!reachesStore(settings) && command.kind === 'tenant-box.recover' && command.hostId !== owner.hostId) return
    const place = reachesStore(settings) ? bucket : { key: command.hostId, subject: (await hostById(tx, command.hostId)).name }
    await recordStoreLost({ tx, clock }, { owner, place, error })
  }
  return {
    resultHandlers: {
      ...handlersOf((tx, command, result: { error?: AgentError | null }) => lost(tx, command, result.error)),
      'tenant-box.snapshot': (tx, command) => checkAgain({ tx, clock }, command),
    },
    acceptOutputs: async (tx, command, { snapshotRepositoryId }) => {
      if (snapshotRepositoryId === undefined) return
      const box = await boxOf(tx, command)
      if (box) await recordRepositoryId(tx, box.tenantId, snapshotRepositoryId)
    },
    failureHandlers: handlersOf((tx, command) => lost(tx, command, command.error)),
  }
}

const handlersOf = (handle: (tx: Tx, command: Command, end: never) => Promise<void>): object =>
  Object.fromEntries(kinds.map((kind) => [kind, handle]))

const checkWithinMs = 6 * 24 * 60 * 60_000

/** A snapshot in a repository that was gone: a check finds its former snapshots again. */
async function checkAgain({ tx, clock }: WithTx<{ clock: Clock }>, command: Command): Promise<void> {
  const box = await boxOf(tx, command)
  if (!box || (await repositoryRow(tx, box.tenantId)).lost_at === null) return
  const until = isoIn(clock, checkWithinMs)
  await tx
    .insertInto('snapshot_tasks')
    .values({ tenant_id: box.tenantId, task: 'check', asked_at: isoNow(clock), until })
    .onConflict((c) => c.columns(['tenant_id', 'task']).doUpdateSet({ until }))
    .execute()
}
