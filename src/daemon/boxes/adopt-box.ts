import type { z } from 'zod'
import type { AdoptBody } from '../../core/boxes/index.ts'
import { type Actor, newId } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueCommand } from '../hosts/index.ts'
import { lockBox } from './boxes.repo.ts'
import type { LifecycleDeps } from './lifecycle/deps.ts'
import { assertHostOnline, assertLive } from './query-boxes.ts'
import { type SetUpDeps, setUpBox } from './set-up-box.ts'

/** Reading a stack takes seconds; the rest is for a host that is briefly offline. */
const deadlineMs = 15 * 60_000

/** Registers an existing stack. It is only observed until it is imported. */
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
