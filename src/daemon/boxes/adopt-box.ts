import type { z } from 'zod'
import {
  type AdoptBody,
  allocatePorts,
  type BoxCommandResult,
  type BoxId,
  type BoxPorts,
  boxHeld,
  digestsFor,
  portsFrom,
} from '../../core/boxes/index.ts'
import { type Actor, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvent, type Tx, type WithTx } from '../db/index.ts'
import { type Command, enqueueCommand, lockHost } from '../hosts/index.ts'
import { applyReport } from './apply-report.ts'
import { holdsOf } from './box-holds.ts'
import type { BoxRecord } from './box-record.ts'
import { boxById, changeBox, existingBox, lockBox, portsTaken } from './boxes.repo.ts'
import { agentGraceMs, type LifecycleDeps, type StepDeps } from './lifecycle/deps.ts'
import { currentManifest } from './manifests.ts'
import { assertHostOnline, assertLive } from './query-boxes.ts'
import { type SetUpDeps, setUpBox } from './set-up-box.ts'

/** Reading a stack takes seconds; the rest is for a host that is briefly offline. */
const deadlineMs = 15 * 60_000

/** Registers an existing stack. It is only observed until it has everything that a managed box needs. */
export const adoptBox = (deps: SetUpDeps, actor: Actor, input: z.output<typeof AdoptBody>) => {
  const { folder, project } = input
  const public_url = input.publicUrl ?? `https://${input.chatDomain}`
  return setUpBox(deps, actor, {
    input: { ...input, canary: false },
    setUp: {
      kind: 'tenant-box.adopt',
      action: 'box.adopt',
      deadlineMs,
      place: async () => ({ public_url, internal_url: null, first_port: null, folder, project }),
      differenceOf: (begun) => {
        if (begun.ports !== null) return 'provisioning'
        return begun.folder === folder && begun.project === project ? undefined : `the project ${begun.project} in ${begun.folder}`
      },
      // Adoption only reads; a provisioned box has containers and volumes.
      isReplaceable: (begun) => begun.ports === null,
      payload: async (_, box) => ({ slug: box.slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch, folder, project }),
    },
  })
}

/** Beside the probes: pulling an image and restarting services. */
const workMs = 60 * 60_000

type Input = Readonly<{ slug: string; expected: string | null }>

/**
 * Previews the completion of an observed box, or applies it when `expected` has the checksum of the shown diff. Ports are chosen once, at the first
 * preview. Throws NOT_FOUND, CONFLICT, BOX_HELD, HOST_OFFLINE, PORT_TAKEN.
 */
export async function completeBox(deps: LifecycleDeps, actor: Actor, { slug, expected }: Input): Promise<{ commandId: string }> {
  const { db, clock, random, bus, probe } = deps
  const commandId = newId(random, 'cmd')
  const { hostId } = await db.transaction().execute(async (tx) => {
    const box = await lockBoxForPorts(tx, slug)
    await assertCompletable(deps, tx, box)
    const ports = box.ports ?? (await choosePorts(deps, tx, box))
    const { manifest } = await currentManifest(tx)
    const { chatDomain, publicUrl } = box
    const addressed = { slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch }
    const edgeImage = manifest.images.edge
    const edgeDigest = digestsFor(manifest, [edgeImage])[edgeImage]
    const edge = { edgeImage, ...(edgeDigest === undefined ? {} : { edgeDigest }) }
    const payload = { ...addressed, ...edge, chatDomain, publicUrl, ports, probe, expected }
    const deadlineMs = expected === null ? agentGraceMs : workMs + probe.timeoutMs + agentGraceMs
    await enqueueCommand(tx, clock, { id: commandId, hostId: box.hostId, boxId: box.id, kind: 'tenant-box.complete', payload, deadlineMs })
    const action = expected === null ? 'box.complete.asked' : 'box.complete'
    await recordAudit(tx, clock, { actor, action, subject: slug, data: { commandId, expected } })
    return box
  })
  bus.queued(hostId)
  return { commandId }
}

/** Locks the host before the box, in the same order as reports do, because ports are chosen under the host's lock. */
export async function lockBoxForPorts(tx: Tx, slug: string): Promise<BoxRecord> {
  const { ports, hostId } = await existingBox(tx, slug)
  if (!ports) await lockHost(tx, hostId)
  return lockBox(tx, slug)
}

async function assertCompletable(deps: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<void> {
  const { slug, id, managed } = box
  assertLive(box)
  if (managed) throw problem('CONFLICT', `box ${slug} is already managed`)
  const hold = (await holdsOf(tx, deps.clock, [id])).get(id)
  if (hold) throw boxHeld({ slug, ...hold })
  await assertHostOnline(deps, tx, box)
}

export async function choosePorts({ firstPort }: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<BoxPorts> {
  const ports = allocatePorts(await portsTaken(tx, box.hostId), firstPort)
  await changeBox(tx, box, { first_port: ports.public })
  return ports
}

/**
 * Registers a live box again on its own host, after the agent lost its state folder. Changes nothing in the box, so a hold does not matter.
 * Throws NOT_FOUND, CONFLICT, HOST_OFFLINE.
 */
export async function adoptAgain(deps: LifecycleDeps, actor: Actor, slug: string): Promise<{ commandId: string }> {
  const { db, clock, random, bus } = deps
  const commandId = newId(random, 'cmd')
  const { hostId } = await db.transaction().execute(async (tx) => {
    const box = await lockBox(tx, slug)
    assertLive(box)
    await assertHostOnline(deps, tx, box)
    const { id, ownershipEpoch, chatDomain, managed, ports, folder, project } = box
    const payload = { slug, boxId: id, ownershipEpoch, chatDomain, managed, ports, folder, project }
    const command = { id: commandId, hostId: box.hostId, boxId: id, kind: 'tenant-box.adopt_again', payload, deadlineMs } as const
    await enqueueCommand(tx, clock, command)
    await recordAudit(tx, clock, { actor, action: 'box.adopt.again', subject: slug, data: { commandId } })
    return box
  })
  bus.queued(hostId)
  return { commandId }
}

/** Stores the result: the report of an applied completion, or only the findings of a preview. */
export async function finishAdoption(
  deps: WithTx<StepDeps>,
  command: Command,
  result: BoxCommandResult<'tenant-box.complete'>,
): Promise<void> {
  const { tx } = deps
  const box = await boxById(tx, command.boxId as BoxId)
  if (!box || box.removal) return
  const { applied, findings, report, probe } = result
  await applyReport({ tx, clock: deps.clock, box }, report, probe ?? undefined)
  const internal = applied && box.ports ? { internal_url: `http://127.0.0.1:${portsFrom(box.ports.public).platform}` } : {}
  await changeBox(tx, box, { findings: JSON.stringify(findings), ...internal })
  if (!applied) return
  const payload = { boxId: box.id, slug: box.slug, tenantId: box.tenantId, managed: report.managed }
  await appendEvent(tx, deps.clock, { stream: 'admin', source: 'boxes', eventType: 'box.completed', payload })
}
