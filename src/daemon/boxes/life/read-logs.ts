import type { z } from 'zod'
import { type boxesContract, Service } from '../../../core/boxes/index.ts'
import { type Actor, actorLabel, isoIn, newId, type Random, sha256Hex } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import { commandsByIds, enqueueCommand } from '../../hosts/index.ts'
import { type AskDeps, requireLive, requireOnline } from '../ask-boxes.ts'
import { existingBox } from '../boxes.repo.ts'

type Wanted = { slug: string } & z.output<typeof boxesContract.readLogs.body>

/** Whoever asks waits for it. */
const deadlineMs = 60_000
/** Long enough for whoever asked to fetch them: what people write may stand in logs. */
const keptMs = 10 * 60_000

/**
 * Asks for what the services of a box print. One who goes on reading names the own command before, and only the first is written into the
 * audit log. Throws NOT_FOUND, CONFLICT, HOST_OFFLINE.
 */
export async function readLogs(deps: AskDeps, actor: Actor, wanted: Wanted): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const { slug, services = Service.options, lines, since, continues } = wanted
  const commandId = newLogsId(random, actor)
  const box = await existingBox(db, slug)
  requireLive(box)
  await requireOnline(deps, db, box)
  await db.transaction().execute(async (tx) => {
    await forgetLogs(deps, tx, box.id)
    const payload = {
      slug,
      boxId: box.id,
      ownershipEpoch: box.ownershipEpoch,
      services: [...services],
      lines,
      ...(since === undefined ? {} : { since }),
    }
    await enqueueCommand(tx, clock, { id: commandId, hostId: box.hostId, boxId: box.id, kind: 'tenant-box.logs', payload, deadlineMs })
    if (continues === undefined || !(await isLogsOf(tx, continues, box.id, actor)))
      await recordAudit(tx, clock, { actor, action: 'box.logs', subject: slug, data: { services, commandId } })
  })
  bus.queued(box.hostId)
  return { commandId }
}

/** Its end says who asked. */
const newLogsId = (random: Random, actor: Actor): string => `${newId(random, 'cmd')}${endFor(actor)}`
const endFor = (actor: Actor): string => `.${sha256Hex(actorLabel(actor)).slice(0, 12)}`

const isLogsOf = async (tx: Tx, commandId: string, boxId: string, actor: Actor): Promise<boolean> =>
  commandId.endsWith(endFor(actor)) &&
  (await commandsByIds(tx, [commandId])).some((command) => command.kind === 'tenant-box.logs' && command.boxId === boxId)

/** Logs that were fetched, or that nobody fetched in time; of one box, or of all. */
export async function forgetLogs({ clock }: Pick<AskDeps, 'clock'>, db: DbOrTx, boxId?: string): Promise<void> {
  let old = db
    .deleteFrom('commands')
    .where('kind', '=', 'tenant-box.logs')
    .where('status', 'in', ['succeeded', 'failed', 'expired'])
    .where('finished_at', '<=', isoIn(clock, -keptMs))
  if (boxId !== undefined) old = old.where('box_id', '=', boxId)
  await old.execute()
}
