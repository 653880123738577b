import type { BoxRemoval } from '../../../core/boxes/index.ts'
import { isFinal } from '../../../core/hosts/index.ts'
import { type Actor, actorLabel, isoNow, newId, problem } from '../../../core/kit/index.ts'
import { isUniqueViolation, type Tx } from '../../db/index.ts'
import { type Command, commandsByIds } from '../../hosts/index.ts'
import { holdBox } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox } from '../boxes.repo.ts'
import { readHost } from '../fleet.ts'
import { openCommands } from '../in-use.ts'
import { assertHostOnline } from '../query-boxes.ts'
import { type LifecycleDeps, noExpiry } from './deps.ts'
import { highestEpoch, openMove } from './moves.repo.ts'
import { insertRemoval, openRemoval, type Removal, removalView } from './removals.repo.ts'
import { deleteBoxSecrets, enqueueRemovalCommand, publishRemoval, removalOwner, stepRemoval } from './step-removal.ts'

type Wanted = Readonly<{ slug: string; confirm: string; reason: string; now: boolean }>

/**
 * Ends a box. A managed one is stopped after a last snapshot and keeps its data for a time; one that never came to be, or was only observed,
 * has nothing to keep. On a removed box `now` erases what is kept; of a host that was revoked, it gives up what may lie there. Throws NOT_FOUND, VALIDATION, CONFLICT, BOX_HELD, HOST_OFFLINE, CONFIG.
 */
export async function removeBox(deps: LifecycleDeps, actor: Actor, wanted: Wanted): Promise<BoxRemoval> {
  const { slug, confirm, now } = wanted
  if (confirm !== slug)
    throw problem('VALIDATION', `to remove ${slug}, type ${slug} as its confirmation`, {
      details: [{ path: 'confirm', reason: `must be ${slug}` }],
    })
  return act(deps, slug, async (tx, box) => {
    const open = await openRemoval(tx, box.id)
    const error = await goneHostError(deps, tx, box)
    if (error) refuseUnlessNow(box, error, now)
    if (!open) return begin(deps, tx, actor, box, { ...wanted, error })
    if (error) return stepRemoval(deps, tx, box, open, { event: 'host_gone', actor, change: { keepUntil: null, eraseNow: true, error } })
    if (!now || open.state !== 'kept') throw problem('CONFLICT', underWay(box, open))
    await assertHostOnline(deps, tx, box)
    return stepRemoval(deps, tx, box, open, { event: 'erase_asked', actor, change: { keepUntil: open.keepUntil, eraseNow: true } })
  })
}

const underWay = ({ slug }: BoxRecord, { state, keepUntil }: Removal): string =>
  state === 'kept'
    ? `the box ${slug} is removed and its data are kept until ${keepUntil}: --now erases them, --undo lets it run again`
    : `the removal of ${slug} is under way (${state.replace('_', ' ')}): \`tenantry boxes show ${slug}\` tells how far`

/** Lets a removed box run again, as long as its data are kept. Throws NOT_FOUND, INVALID_TRANSITION, HOST_OFFLINE, HOST_REVOKED. */
export const undoRemoval = (deps: LifecycleDeps, actor: Actor, slug: string): Promise<BoxRemoval> =>
  act(deps, slug, async (tx, box) => {
    const open = await openRemoval(tx, box.id)
    if (!open) throw problem('INVALID_TRANSITION', `the box ${slug} is not removed: there is nothing to undo`)
    const error = await goneHostError(deps, tx, box)
    if (error) refuseUndo(box, error)
    await assertHostOnline(deps, tx, box)
    return stepRemoval(deps, tx, box, open, { event: 'undo_asked', actor, change: { keepUntil: open.keepUntil } })
  })

type Begun = Wanted & Readonly<{ error: Removal['error'] }>

async function begin(deps: LifecycleDeps, tx: Tx, actor: Actor, box: BoxRecord, { reason, now, error }: Begun): Promise<Removal> {
  const { clock } = deps
  await refuseBusy(tx, box)
  if (!error) await refuseCompleting(tx, box)
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
    startedAt: at,
    changedAt: at,
    keepUntil: null,
  }
  if (asked.state === 'handing_over' || error) await holdBox(tx, clock, { boxId: box.id, holder: removalOwner(asked), until: noExpiry })
  const removal = await enqueueRemovalCommand(deps, tx, box, asked)
  await insertRemoval(tx, removal)
  if (removal.state === 'erased') await deleteBoxSecrets(tx, box)
  if (removal.state === 'erasing') await tx.updateTable('boxes').set({ removal: 'removed' }).where('id', '=', box.id).execute()
  await publishRemoval(tx, clock, box, removal, actor)
  return removal
}

async function refuseBusy(tx: Tx, box: BoxRecord): Promise<void> {
  const move = await openMove(tx, box.id)
  if (move)
    throw problem(
      'CONFLICT',
      `the box ${box.slug} is being moved (${move.state.replace('_', ' ')}): end that first, \`tenantry boxes show ${box.slug}\` tells how`,
    )
  const [setUp] = box.live ? [] : await commandsByIds(tx, [box.setUp.commandId])
  if (setUp && !isFinal(setUp.status)) throw problem('CONFLICT', `the box ${box.slug} is being set up: wait for the end of that`)
}

/** What is being made a box of is not forgotten: it would run as one that nobody knows. */
async function refuseCompleting(tx: Tx, { id, slug }: BoxRecord): Promise<void> {
  const isOrder = ({ kind, payload }: Command) =>
    kind === 'tenant-box.complete' && (payload as { expected: string | null }).expected !== null
  if ((await openCommands(tx, id)).some(isOrder))
    throw problem(
      'CONFLICT',
      `the adoption of ${slug} is being completed: wait for the end of that, or revoke its host if that is gone for good`,
    )
}

/** An observed stack belongs to those who made it: nothing of it is touched, the registry only forgets it. */
async function firstState(deps: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<'handing_over' | 'erasing' | 'erased'> {
  if (!box.managed && box.folder !== null) return 'erased'
  await assertHostOnline(deps, tx, box)
  if (!box.live) return 'erasing'
  deps.assertSnapshotsConfigured()
  return 'handing_over'
}

async function act(deps: LifecycleDeps, slug: string, verb: (tx: Tx, box: BoxRecord) => Promise<Removal>): Promise<BoxRemoval> {
  const removal = await deps.db
    .transaction()
    .execute(async (tx) => verb(tx, await lockBox(tx, slug)))
    .catch((error) => {
      if (!isUniqueViolation(error)) throw error
      throw problem('CONFLICT', `somebody else removes ${slug} at the same moment: look at it again`)
    })
  deps.bus.queued(removal.hostId)
  return removalView(removal)
}

type Error = NonNullable<Removal['error']>

/** What is to be said of a box whose host was revoked: nobody can stop or erase it any more. Null as long as its host may be asked. */
export async function goneHostError(deps: LifecycleDeps, tx: Tx, { slug, hostId, managed, folder }: BoxRecord): Promise<Error | null> {
  const host = await readHost(deps, tx, hostId)
  if (host?.status !== 'revoked' || (!managed && folder !== null)) return null
  return { code: 'HOST_REVOKED', message: `the host ${host.name} was revoked: data of ${slug} may still lie on it` }
}

/** Its data lie where nobody can be asked: only the machine itself, enrolled again, brings them back. Throws HOST_REVOKED. */
function refuseUndo({ slug }: BoxRecord, { message }: Error): never {
  throw problem(
    'HOST_REVOKED',
    `${message}, so the box cannot run there again. If the machine is still whole: \`tenantry hosts invite\` its name, \`tenantry-agent enrol --anew\` on it, then try again. If not: \`tenantry boxes remove ${slug} --now --reason <why>\` gives it up; its snapshots stay, and docs/snapshots.md tells how their data are had with restic alone`,
  )
}

/** Nothing can be kept there for a time, so a person has to say that it is given up. Throws HOST_REVOKED. */
function refuseUnlessNow({ slug, live }: BoxRecord, { message }: Error, now: boolean): void {
  if (now) return
  const back = live
    ? `; \`tenantry boxes move ${slug} --to <host> --reason <why> --old-host-is-dead <its name>\` brings the box back from a snapshot instead`
    : ''
  throw problem('HOST_REVOKED', `${message}, and nothing can be kept there: --now gives them up${back}`)
}
