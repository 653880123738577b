import type { BoxId, Service } from '../../../core/boxes/index.ts'
import { type Actor, type Clock, isoIn, newId, problem } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import { type Command, enqueueCommand, type FailureHandlers } from '../../hosts/index.ts'
import { holdBox, holdsBySlug, isRestart, releaseHold, restartPrefix } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox } from '../boxes.repo.ts'
import { assertHostOnline, assertLive, type QueryDeps } from '../query-boxes.ts'

/** The restart and its probes, and a host that is briefly offline. */
const deadlineMs = 30 * 60_000
/** A restart without a result from an agent that fetched it may still run. */
const unresolvedMs = 24 * 60 * 60_000

type Input = Readonly<{ slug: string; reason: string; services?: readonly Service[] | undefined }>

/**
 * Restarts the containers of a box, or of some services. The box is on hold until the agent has reported the end, so that no rollout begins on it. Throws NOT_FOUND,
 * CONFLICT for a fenced box or one that is not ready, BOX_HELD during a rollout, a restore, a move or maintenance, HOST_OFFLINE.
 */
export async function restartBox(deps: QueryDeps, actor: Actor, { slug, reason, services }: Input): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const commandId = newId(random, 'cmd')
  const { hostId } = await db.transaction().execute(async (tx) => {
    const box = await lockBox(tx, slug)
    assertLive(box)
    await holdBox(tx, clock, { boxId: box.id, holder: ownerOf(commandId), until: isoIn(clock, deadlineMs + unresolvedMs) })
    assertUnfenced(box)
    await assertHostOnline(deps, tx, box)
    const only = services ? { services: [...services] } : {}
    const address = { slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch }
    const command = { id: commandId, hostId: box.hostId, boxId: box.id, deadlineMs }
    await enqueueCommand(
      tx,
      clock,
      services
        ? { ...command, kind: 'tenant-box.restart_services', payload: { ...address, services: [...services] } }
        : { ...command, kind: 'tenant-box.restart', payload: address },
    )
    await recordAudit(tx, clock, { actor, action: 'box.restart', subject: slug, data: { reason, commandId, ...only } })
    return box
  })
  bus.queued(hostId)
  return { commandId }
}

const ownerOf = (commandId: string): string => `${restartPrefix}${commandId}`

/** Slugs of boxes that are being restarted: their reports may say that services are stopped. */
export const restartingBoxes = async (db: DbOrTx, clock: Clock): Promise<ReadonlySet<string>> =>
  new Set([...(await holdsBySlug(db, clock))].flatMap(([slug, hold]) => (isRestart(hold) ? [slug] : [])))

function assertUnfenced({ slug, fenced }: BoxRecord): void {
  if (fenced)
    throw problem(
      'CONFLICT',
      `box ${slug} is fenced, and a restart does not open it. fix: find the cause with \`tenantry boxes show ${slug}\``,
    )
}

/** Releases the hold when the agent reports the result, also a late one. */
export const endRestart = (tx: Tx, { id, boxId }: Command): Promise<void> => releaseHold(tx, { boxId: boxId as BoxId, holder: ownerOf(id) })

/** A restart that no agent will continue ends its hold; another one may still run. */
export const failRestart: NonNullable<FailureHandlers['tenant-box.restart']> = async (tx, command, { reported, lost }) => {
  if (reported || lost || command.leaseToken === 0) await endRestart(tx, command)
}
