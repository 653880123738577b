import {
  type BoxCommandPayload,
  type BoxDetail,
  type BoxId,
  observedText,
  targetImage,
  UpgradeRehearsal,
  upgradeImage,
} from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoNow, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvent, type DbOrTx, type Tx } from '../db/index.ts'
import { type Command, enqueueCommand, type FailureHandlers, type ResultHandlers } from '../hosts/index.ts'
import type { BoxRecord } from './box-record.ts'
import { boxById, lockBox } from './boxes.repo.ts'
import { openCommands } from './in-use.ts'
import { currentManifest } from './manifests.ts'
import { addressed, assertHostOnline, assertLive, type QueryDeps } from './query-boxes.ts'

const kind = 'tenant-box.rehearse_upgrade'
/** A copy at a limited speed, a dump and a load: a day for the largest box. */
const deadlineMs = 24 * 60 * 60_000
/** A command may wait for others of its host. */
const queueGraceMs = 60 * 60_000

type Input = Readonly<{ slug: string; to?: string | undefined }>

/**
 * Starts the rehearsal of an upgrade of PostgreSQL beside a box, which is only read. Throws NOT_FOUND, BOX_NOT_MANAGED, HOST_OFFLINE, and CONFLICT for
 * a box that is not ready or has a rehearsal already.
 */
export async function rehearseUpgrade(deps: QueryDeps, actor: Actor, { slug, to }: Input): Promise<{ commandId: string; image: string }> {
  const { db, clock, random, bus } = deps
  const commandId = newId(random, 'cmd')
  const { box, image } = await db.transaction().execute(async (tx) => {
    const box = await lockBox(tx, slug)
    assertLive(box)
    if (!box.managed) throw problem('BOX_NOT_MANAGED', observedText(slug))
    await assertHostOnline(deps, tx, box)
    await assertNoneOpen(tx, box)
    const { image, digest } = await target(tx, box, to)
    const { hostId, boxId, payload } = addressed(box)
    const order: BoxCommandPayload<typeof kind> = { ...payload, image, ...(digest === undefined ? {} : { digest }), deadlineMs }
    await enqueueCommand(tx, clock, { id: commandId, hostId, boxId, deadlineMs: deadlineMs + queueGraceMs, kind, payload: order })
    await recordAudit(tx, clock, { actor, action: 'box.rehearse_upgrade', subject: slug, data: { commandId, image } })
    return { box, image }
  })
  bus.queued(box.hostId)
  return { commandId, image }
}

async function assertNoneOpen(tx: Tx, { id, slug }: BoxRecord): Promise<void> {
  const open = (await openCommands(tx, id)).find((command) => command.kind === kind && command.status !== 'expired')
  if (open)
    throw problem(
      'CONFLICT',
      `an upgrade of ${slug} is being rehearsed. fix: follow it: \`tenantry boxes follow ${slug} --command ${open.id}\``,
    )
}

/** The image of the manifest, with its digest, or the one that was named. */
async function target(tx: Tx, box: BoxRecord, to: string | undefined): Promise<Readonly<{ image: string; digest?: string | undefined }>> {
  const { manifest } = await currentManifest(tx)
  const listed = targetImage(manifest, box.tier, 'postgres')
  if (to === undefined) return { image: listed, digest: manifest.digests?.[listed] }
  const image = upgradeImage(to, box.report?.services.postgres?.image ?? listed)
  return { image, digest: manifest.digests?.[image] }
}

type Deps = Readonly<{ clock: Clock }>

/** Stores the result as the latest of the box. */
export const upgradeResults = ({ clock }: Deps): ResultHandlers => ({
  [kind]: (tx, command, result) => record({ tx, clock }, command, result),
})

/** A rehearsal that could not run is the latest one too. */
export const upgradeFailures = ({ clock }: Deps): FailureHandlers => ({
  [kind]: (tx, command) => record({ tx, clock }, command, failed(command)),
})

function failed({ payload, error }: Command): UpgradeRehearsal {
  const { image, digest = null } = payload as BoxCommandPayload<typeof kind>
  return {
    ...{ ok: false, way: 'dump-load', image, digest, from: null, to: null, databaseBytes: null, dumpBytes: null, loadedBytes: null },
    ...{ tables: null, rows: null, times: {}, downtimeMs: null, findings: [], durationMs: 0 },
    error: error ?? { code: 'COMMAND_EXPIRED', message: 'the agent did not finish in time' },
  }
}

async function record({ tx, clock }: Deps & Readonly<{ tx: Tx }>, command: Command, result: UpgradeRehearsal): Promise<void> {
  const box = await boxById(tx, command.boxId as BoxId)
  if (!box) return
  const row = { command_id: command.id, at: isoNow(clock), ok: result.ok ? 1 : 0, result: JSON.stringify(result) }
  await tx
    .insertInto('upgrade_rehearsals')
    .values({ box_id: box.id, tenant_id: box.tenantId, ...row })
    .onConflict((conflict) => conflict.column('box_id').doUpdateSet(row))
    .execute()
  const { ok, downtimeMs, error } = result
  const payload = { boxId: box.id, slug: box.slug, commandId: command.id, ok, downtimeMs, error }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.upgrade_rehearsed', payload })
}

/** The latest rehearsal of a box; null before the first. */
export async function latestRehearsal(db: DbOrTx, boxId: string): Promise<BoxDetail['upgradeRehearsal']> {
  const row = await db.selectFrom('upgrade_rehearsals').selectAll().where('box_id', '=', boxId).executeTakeFirst()
  return row ? { ...UpgradeRehearsal.parse(JSON.parse(row.result)), commandId: row.command_id, at: row.at } : null
}

type Known = Pick<UpgradeRehearsal, 'ok' | 'image' | 'digest' | 'downtimeMs'> & Readonly<{ at: string }>

/** The latest rehearsals by box, of all boxes or of one. */
export async function upgradeRehearsals(db: DbOrTx, boxId?: string): Promise<ReadonlyMap<string, Known>> {
  const all = db.selectFrom('upgrade_rehearsals').select(['box_id', 'at', 'result'])
  const rows = await (boxId === undefined ? all : all.where('box_id', '=', boxId)).execute()
  return new Map(
    rows.map(({ box_id, at, result }) => {
      const { ok, image, digest, downtimeMs } = UpgradeRehearsal.parse(JSON.parse(result))
      return [box_id, { at, ok, image, digest, downtimeMs }]
    }),
  )
}
