import type { BoxRemoval } from '../../../core/boxes/index.ts'
import { isFinal } from '../../../core/hosts/index.ts'
import { type Actor, actorLabel, isoNow, newId, problem } from '../../../core/kit/index.ts'
import { isUniqueViolation, type Tx } from '../../db/index.ts'
import { commandsByIds } from '../../hosts/index.ts'
import { holdBox, noExpiry } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox } from '../boxes.repo.ts'
import { readHost } from '../fleet.ts'
import { openCommands } from '../in-use.ts'
import { assertHostOnline } from '../query-boxes.ts'
import type { LifecycleDeps } from './deps.ts'
import { highestEpoch, insertRemoval, openMove, openRemoval, type Removal, removalView } from './procedures.repo.ts'
import { enqueueRemovalCommand, publishRemoval, releaseErasedBox, removalOwner, stepRemoval } from './step-removal.ts'

type Input = Readonly<{ slug: string; confirm: string; reason: string; now: boolean; hostIsDead?: string | undefined }>

/**
 * Removes a box. A managed box is stopped after a last snapshot, and its data is retained for a time; a box that never became ready, or was only observed,
 * has no data to retain. On a removed box `now` erases the data; on a revoked host, and on one that `hostIsDead` names, it abandons the data there.
 * Throws NOT_FOUND, VALIDATION, CONFLICT, BOX_HELD, HOST_OFFLINE, CONFIG.
 */
export async function removeBox(deps: LifecycleDeps, actor: Actor, input: Input): Promise<BoxRemoval> {
  const { slug, confirm, hostIsDead } = input
  const now = input.now || hostIsDead !== undefined
  if (confirm !== slug)
    throw problem('VALIDATION', `confirmation does not match: expected ${slug}`, {
      details: [{ path: 'confirm', reason: `must be ${slug}` }],
    })
  return act(deps, slug, async (tx, box) => {
    const open = await openRemoval(tx, box.id)
    const error = (await goneHostError(deps, tx, box)) ?? (await deadHostError(deps, tx, { box, hostIsDead }))
    if (error) assertEraseNow(box, error, now)
    if (!open) return begin({ deps, tx, box }, actor, { ...input, now, error })
    if (error)
      return stepRemoval(
        { deps, tx, box, removal: open },
        { event: 'host_gone', actor, change: { keepUntil: null, eraseNow: true, error } },
      )
    if (!now || open.state !== 'kept') throw problem('CONFLICT', openRemovalText(box, open))
    await assertHostOnline(deps, tx, box)
    return stepRemoval(
      { deps, tx, box, removal: open },
      { event: 'erase_asked', actor, change: { keepUntil: open.keepUntil, eraseNow: true } },
    )
  })
}

const openRemovalText = ({ slug }: BoxRecord, { state, keepUntil }: Removal): string =>
  state === 'kept'
    ? `box ${slug} is removed; its data ${keepUntil ? `expires ${keepUntil}` : 'does not expire'}. fix: --now erases it, --undo restores the box`
    : `${slug} has an open removal (${state.replace('_', ' ')}). Progress: \`tenantry boxes show ${slug}\``

/** Restores a removed box whose data is retained. Throws NOT_FOUND, INVALID_TRANSITION, HOST_OFFLINE, HOST_REVOKED. */
export const undoRemoval = (deps: LifecycleDeps, actor: Actor, slug: string): Promise<BoxRemoval> =>
  act(deps, slug, async (tx, box) => {
    const open = await openRemoval(tx, box.id)
    if (!open) throw problem('INVALID_TRANSITION', `box ${slug} is not removed`)
    const error = await goneHostError(deps, tx, box)
    if (error) throwHostRevoked(box, error)
    await assertHostOnline(deps, tx, box)
    return stepRemoval({ deps, tx, box, removal: open }, { event: 'undo_asked', actor, change: { keepUntil: open.keepUntil } })
  })

type BoxTx = Readonly<{ deps: LifecycleDeps; tx: Tx; box: BoxRecord }>
type Begun = Input & Readonly<{ error: Removal['error'] }>

async function begin({ deps, tx, box }: BoxTx, actor: Actor, { reason, now, error }: Begun): Promise<Removal> {
  const { clock } = deps
  await assertNotBusy(tx, box)
  if (!error) await assertNotImporting(tx, box)
  const at = isoNow(clock)
  const asked: Removal = {
    id: newId(deps.random, 'rmv'),
    boxId: box.id,
    hostId: box.hostId,
    state: error ? 'erased' : await firstState(deps, tx, box),
    epoch: Math.max(box.ownershipEpoch, await highestEpoch(tx, box.id)),
    snapshotId: null,
    eraseNow: now,
    reason,
    by: actorLabel(actor),
    orders: 0,
    commandId: null,
    error,
    remarks: [],
    startedAt: at,
    changedAt: at,
    keepUntil: null,
  }
  if (asked.state === 'handing_over' || error) await holdBox(tx, clock, { boxId: box.id, holder: removalOwner(asked), until: noExpiry })
  const removal = await enqueueRemovalCommand({ deps, tx, box, removal: asked })
  await insertRemoval(tx, removal)
  if (removal.state === 'erased') await releaseErasedBox(deps, tx, box)
  if (removal.state === 'erasing') await tx.updateTable('boxes').set({ removal: 'removed' }).where('id', '=', box.id).execute()
  await publishRemoval(tx, clock, { box, removal, actor })
  return removal
}

async function assertNotBusy(tx: Tx, box: BoxRecord): Promise<void> {
  const move = await openMove(tx, box.id)
  if (move)
    throw problem(
      'CONFLICT',
      `box ${box.slug} has an open move (${move.state.replace('_', ' ')}). fix: finish it (see \`tenantry boxes show ${box.slug}\`), then retry`,
    )
  const [setUp] = box.live ? [] : await commandsByIds(tx, [box.setUp.commandId])
  if (setUp && !isFinal(setUp.status)) throw problem('CONFLICT', `box ${box.slug} is being set up. fix: wait until it finishes`)
}

/** Throws CONFLICT while a stack is imported: the stack would run without a registered box. */
async function assertNotImporting(tx: Tx, { id, slug }: BoxRecord): Promise<void> {
  if (!(await openCommands(tx, id)).some(({ kind }) => kind === 'tenant-box.import')) return
  throw problem(
    'CONFLICT',
    `the stack of ${slug} is being imported. fix: wait until the import ends (tenantry boxes show ${slug}); if its host is gone for good: tenantry boxes remove ${slug} --host-is-dead <host> --reason <why>`,
  )
}

/** The first state of a removal. An observed stack is not changed; only its registration is deleted. */
async function firstState(deps: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<'handing_over' | 'erasing' | 'erased'> {
  if (!box.managed && box.folder !== null) return 'erased'
  await assertHostOnline(deps, tx, box)
  if (!box.live) return 'erasing'
  deps.assertSnapshotsConfigured()
  return 'handing_over'
}

async function act(deps: LifecycleDeps, slug: string, run: (tx: Tx, box: BoxRecord) => Promise<Removal>): Promise<BoxRemoval> {
  const removal = await deps.db
    .transaction()
    .execute(async (tx) => run(tx, await lockBox(tx, slug)))
    .catch((error) => {
      if (!isUniqueViolation(error)) throw error
      throw problem('CONFLICT', `another removal of ${slug} began at the same time. Progress: \`tenantry boxes show ${slug}\``)
    })
  deps.bus.queued(removal.hostId)
  return removalView(removal)
}

type Error = NonNullable<Removal['error']>

/** The error for a box on a revoked host, which cannot stop or erase it. Null when the host can be reached. */
export async function goneHostError(deps: LifecycleDeps, tx: Tx, { slug, hostId, managed, folder }: BoxRecord): Promise<Error | null> {
  const host = await readHost(deps, tx, hostId)
  if (host?.status !== 'revoked' || (!managed && folder !== null)) return null
  return { code: 'HOST_REVOKED', message: `host ${host.name} was revoked; data of ${slug} may still be on it` }
}

type Dead = Readonly<{ box: BoxRecord; hostIsDead: string | undefined }>

/** The error for a box on a host that the operator declares gone. Throws VALIDATION for another host, CONFLICT while it answers. */
async function deadHostError(deps: LifecycleDeps, tx: Tx, { box, hostIsDead }: Dead): Promise<Error | null> {
  if (hostIsDead === undefined) return null
  const host = await readHost(deps, tx, box.hostId)
  const name = host?.name ?? box.hostId
  if (hostIsDead !== name)
    throw problem('VALIDATION', `the host of ${box.slug} is ${name}, not ${hostIsDead}`, {
      details: [{ path: 'hostIsDead', reason: `must be ${name}` }],
    })
  if (host?.status === 'online')
    throw problem(
      'CONFLICT',
      `host ${name} is online. fix: remove ${box.slug} without --host-is-dead, or stop its agent and wait until it is offline`,
    )
  return { code: 'HOST_OFFLINE', message: `host ${name} is gone; data of ${box.slug} may still be on it` }
}

/** Its data is on a revoked host: only enrolling the machine again makes a restore possible. Throws HOST_REVOKED. */
function throwHostRevoked({ slug }: BoxRecord, { message }: Error): never {
  throw problem(
    'HOST_REVOKED',
    `${message}, so the box cannot run there. fix: if the machine exists, \`tenantry hosts invite <name>\` and \`tenantry-agent enrol --anew\` on it, then retry; otherwise \`tenantry boxes remove ${slug} --now --reason <why>\`, and read its snapshots with restic (docs/snapshots.md)`,
  )
}

/** Data on a revoked host cannot be retained, so `now` is mandatory. Throws HOST_REVOKED. */
function assertEraseNow({ slug, live }: BoxRecord, { message }: Error, now: boolean): void {
  if (now) return
  const rebuild = live
    ? `, or rebuild the box from a snapshot: \`tenantry boxes move ${slug} --to <host> --reason <why> --old-host-is-dead <its name>\``
    : ''
  throw problem('HOST_REVOKED', `${message} and cannot be retained. fix: pass --now${rebuild}`)
}
