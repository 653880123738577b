import type { z } from 'zod'
import {
  allocatePorts,
  type BoxCommandKind,
  type BoxCommandPayload,
  type BoxImport,
  type BoxPorts,
  type boxesContract,
  digestsFor,
  type ImportEvent,
  importTransition,
  notForeign,
} from '../../../core/boxes/index.ts'
import { type Actor, actorLabel, isoIn, isoNow, newId, problem } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Tx } from '../../db/index.ts'
import { enqueueCommand, lockHost } from '../../hosts/index.ts'
import { holdBox } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { changeBox, existingBox, lockBox, portsTaken } from '../boxes.repo.ts'
import { currentManifest } from '../manifests.ts'
import { imagesOf } from '../provision-box.ts'
import { assertHostOnline, assertLive } from '../query-boxes.ts'
import { agentGraceMs, type LifecycleDeps } from './deps.ts'
import { importView, insertImport, latestImport, openImport, type StoredImport, saveImport } from './imports.repo.ts'

/** A large database is dumped and loaded, and its media may be copied. */
const workMs = 12 * 60 * 60_000
/** A command without a result from an agent that fetched it may still run. */
const unresolvedMs = 7 * 24 * 60 * 60_000

type Begin = Readonly<{ slug: string }> & z.output<typeof boxesContract.importBox.body>

/**
 * Makes a box of an observed stack, or of a box that was completed in place. It is on hold until the agent has reported the end. Throws NOT_FOUND,
 * CONFLICT for a box of the template, BOX_HELD, HOST_OFFLINE, PORT_TAKEN.
 */
export async function importBox(deps: LifecycleDeps, actor: Actor, { slug, drop, reason }: Begin): Promise<BoxImport> {
  const { db, clock, random, bus, probe } = deps
  const one = await db.transaction().execute(async (tx) => {
    const box = await lockBoxForPorts(tx, slug)
    assertLive(box)
    const { folder, project } = box
    if (folder === null || project === null) throw problem('CONFLICT', notForeign(slug))
    const importId = newId(random, 'imp')
    const begun: StoredImport = {
      ...{
        importId,
        boxId: box.id,
        hostId: box.hostId,
        state: 'importing',
        reason,
        by: actorLabel(actor),
        folder,
        project,
        dropped: [...drop],
      },
      ...{ facts: null, written: null, importedAt: null, commandId: `${importId}.import`, error: null },
      ...{ startedAt: isoNow(clock), changedAt: isoNow(clock), finishedAt: null },
    }
    await hold(deps, tx, { one: begun, ms: workMs + probe.timeoutMs })
    await assertHostOnline(deps, tx, box)
    const ports = box.ports ?? (await choosePorts(deps, tx, box))
    const { manifest } = await currentManifest(tx)
    const images = imagesOf(manifest, box, {})
    const { synapse, postgres, migrationsHead } = manifest.tiers[box.tier]
    await insertImport(tx, begun)
    await enqueue(deps, tx, {
      ...{ one: begun, box, kind: 'tenant-box.import' },
      more: {
        ...{ chatDomain: box.chatDomain, publicUrl: box.publicUrl, versions: { synapse, postgres }, drop: [...drop], images, ports, probe },
        ...{ digests: digestsFor(manifest, Object.values(images)), migrationsHead, deadlineMs: workMs + probe.timeoutMs },
      },
      deadlineMs: workMs + probe.timeoutMs + agentGraceMs,
    })
    await publishImport(tx, clock, { one: begun, box, actor })
    return begun
  })
  bus.queued(one.hostId)
  return importView(one)
}

/** Locks the host before the box, in the same order as reports do, because ports are chosen under the lock of the host. */
async function lockBoxForPorts(tx: Tx, slug: string): Promise<BoxRecord> {
  const { ports, hostId } = await existingBox(tx, slug)
  if (!ports) await lockHost(tx, hostId)
  return lockBox(tx, slug)
}

async function choosePorts({ firstPort }: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<BoxPorts> {
  const ports = allocatePorts(await portsTaken(tx, box.hostId), firstPort)
  await changeBox(tx, box, { first_port: ports.public })
  return ports
}

/** Asks the agent what undoing would lose and what finishing would remove. Throws NOT_FOUND, CONFLICT, HOST_OFFLINE. */
export async function readImport(deps: LifecycleDeps, slug: string): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const commandId = newId(random, 'cmd')
  const { hostId } = await db.transaction().execute(async (tx) => {
    const box = await lockBox(tx, slug)
    await importedOne(deps, tx, box)
    const payload = { slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch }
    const command = {
      id: commandId,
      hostId: box.hostId,
      boxId: box.id,
      kind: 'tenant-box.import_state',
      payload,
      deadlineMs: agentGraceMs,
    } as const
    await enqueueCommand(tx, clock, command)
    return box
  })
  bus.queued(hostId)
  return { commandId }
}

type End = Readonly<{ slug: string; reason: string; volumes?: boolean }>

/** Stops the box and starts its foreign stack. Throws NOT_FOUND, CONFLICT, INVALID_TRANSITION, BOX_HELD, HOST_OFFLINE. */
export const undoImport = (deps: LifecycleDeps, actor: Actor, { slug, reason }: End): Promise<BoxImport> =>
  end(deps, actor, { slug, reason, event: 'undo_asked', kind: 'tenant-box.undo_import', more: {} })

/** Ends the return path: the stopped containers of the stack are removed. Throws as `undoImport`. */
export const finishImport = (deps: LifecycleDeps, actor: Actor, { slug, reason, volumes = false }: End): Promise<BoxImport> =>
  end(deps, actor, { slug, reason, event: 'finish_asked', kind: 'tenant-box.finish_import', more: { volumes } })

type Ending = Readonly<{ slug: string; reason: string; event: ImportEvent; kind: EndKind; more: Readonly<Record<string, unknown>> }>
type EndKind = 'tenant-box.undo_import' | 'tenant-box.finish_import'

async function end(deps: LifecycleDeps, actor: Actor, { slug, reason, event, kind, more }: Ending): Promise<BoxImport> {
  const one = await deps.db.transaction().execute(async (tx) => {
    const box = await lockBox(tx, slug)
    const before = await importedOne(deps, tx, box)
    const commandId = newId(deps.random, 'cmd')
    const asked: StoredImport = {
      ...before,
      ...{ state: importTransition(before.state, event), commandId, error: null, changedAt: isoNow(deps.clock) },
    }
    await hold(deps, tx, { one: asked, ms: agentGraceMs })
    await saveImport(tx, before, asked)
    await enqueue(deps, tx, { one: asked, box, kind, more, deadlineMs: 2 * agentGraceMs })
    await publishImport(tx, deps.clock, { one: asked, box, actor, data: { reason, ...more } })
    return asked
  })
  deps.bus.queued(one.hostId)
  return importView(one)
}

/** The import that can be undone or finished. */
async function importedOne(deps: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<StoredImport> {
  assertLive(box)
  const open = await openImport(tx, box.id)
  if (!open) {
    const last = await latestImport(tx, box.id)
    throw problem('CONFLICT', last ? `the import of ${box.slug} is ${last.state}` : `box ${box.slug} was not imported`)
  }
  if (open.hostId !== box.hostId)
    throw problem(
      'CONFLICT',
      `box ${box.slug} was moved since its import: its former stack ${open.project} is stopped on its old host. fix: remove it there by hand`,
    )
  await assertHostOnline(deps, tx, box)
  return open
}

export const ownerOfImport = ({ importId }: Pick<StoredImport, 'importId'>): string => `import:${importId}`

const hold = ({ clock }: Pick<LifecycleDeps, 'clock'>, tx: Tx, { one, ms }: Readonly<{ one: StoredImport; ms: number }>): Promise<void> =>
  holdBox(tx, clock, { boxId: one.boxId, holder: ownerOfImport(one), until: isoIn(clock, ms + unresolvedMs) })

type Order = Readonly<{ one: StoredImport; box: BoxRecord; kind: BoxCommandKind; more: object; deadlineMs: number }>

async function enqueue({ clock }: LifecycleDeps, tx: Tx, { one, box, kind, more, deadlineMs }: Order): Promise<void> {
  const payload = { slug: box.slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch, ...more } as BoxCommandPayload<typeof kind>
  await enqueueCommand(tx, clock, { id: one.commandId as string, hostId: box.hostId, boxId: box.id, kind, payload, deadlineMs })
}

type Published = Readonly<{ one: StoredImport; box: Pick<BoxRecord, 'id' | 'slug' | 'tenantId'>; actor: Actor; data?: object }>

/** Records a step of an import in the audit log and as an event. */
export async function publishImport(tx: Tx, clock: LifecycleDeps['clock'], { one, box, actor, data = {} }: Published): Promise<void> {
  const { importId, state, commandId, error, reason, dropped } = one
  const payload = { boxId: box.id, slug: box.slug, tenantId: box.tenantId, importId, state }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.import', payload })
  const about = { importId, commandId, error, ...(state === 'importing' ? { reason, dropped } : {}), ...data }
  await recordAudit(tx, clock, { actor, action: `box.import.${state}`, subject: box.slug, data: about })
}
