import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { updateSteps } from '../../../src/agent/update/index.ts'
import { resticProgram } from '../snapshots/restic-program.ts'
import { aContext, aPayload, aWorld, newSynapse } from './an-update.ts'

const program = resticProgram()

test.skipIf(!program)(
  'with a real restic: a box whose local dump is gone is restored from its repository',
  async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const folder = world.host.folder
    const snapshots = resticSnapshots({ program: program as string, owner: folder, cacheFolder: join(folder, 'cache') })
    const repository = { repository: `file:${join(folder, 'repository')}`, password: 'a key', env: {} }
    const deps = { ...(await world.agent()), snapshots }
    const stop: typeof updateSteps.stop = async (run) => {
      await updateSteps['restore-stop'](run)
      await rm(run.dumpFolder, { recursive: true })
    }
    const context = aContext({ secrets: async () => ({ snapshots: repository }) })
    const result = await world.run(aPayload({ deadlineMs: 1e13 }), { deps, context, steps: { ...updateSteps, 'restore-stop': stop } })
    expect(result).toMatchObject({ outcome: 'rolled_back', snapshotOk: true })
    expect(await snapshots.ofCommand(repository, context.commandId)).toMatchObject({ id: result.snapshotId })
    expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
  },
  60_000,
)
