import type { z } from 'zod'
import type { AdoptBody } from '../../core/boxes/index.ts'
import type { Actor } from '../../core/kit/index.ts'
import { type SetUpDeps, setUpBox } from './set-up-box.ts'

/** Reading a stack takes moments; the time is for a host that is briefly away. */
const deadlineMs = 15 * 60_000

/** Registers a stack as it is. It is observed only, until its report says that it has all that a managed box needs. */
export const adoptBox = (deps: SetUpDeps, actor: Actor, wanted: z.output<typeof AdoptBody>) => {
  const { folder, project } = wanted
  const public_url = wanted.publicUrl ?? `https://${wanted.chatDomain}`
  return setUpBox(
    deps,
    actor,
    { ...wanted, canary: false },
    {
      kind: 'tenant-box.adopt',
      action: 'box.adopt',
      deadlineMs,
      place: async () => ({ public_url, internal_url: null, first_port: null, folder, project }),
      otherThan: (begun) => {
        if (begun.ports !== null) return 'provisioning'
        return begun.folder === folder && begun.project === project ? undefined : `the project ${begun.project} in ${begun.folder}`
      },
      // The agent only looks; a box that was provisioned has containers and volumes.
      leftNothing: (begun) => begun.ports === null,
      payload: async (_, box) => ({ slug: box.slug, boxId: box.id, ownershipEpoch: box.ownershipEpoch, folder, project }),
    },
  )
}
