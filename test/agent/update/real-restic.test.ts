import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { updateSteps } from '../../../src/agent/update/index.ts'
import { resticProgram } from '../snapshots/restic-program.ts'
import { aContext, aPayload, aWorld, newSynapse } from './an-update.ts'

const program = resticProgram()

async function realStore(world: Awaited<ReturnType<typeof aWorld>>) {
  const folder = world.host.folder
  const snapshots = resticSnapshots({ program: program as string, owner: folder, cacheFolder: join(folder, 'cache') })
  const repository = { repository: `file:${join(folder, 'repository')}`, password: 'a key', env: {}, mayCreate: true }
  const context = aContext({ secrets: async () => ({ snapshots: repository }) })
  return { snapshots, repository, context, deps: { ...(await world.agent()), snapshots } }
}

test.skipIf(!program)(
  'with a real restic: a box whose local dump is gone is restored from its repository',
  async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const { snapshots, repository, context, deps } = await realStore(world)
    const stop: typeof updateSteps.stop = async (run) => {
      await updateSteps['restore-stop'](run)
      await rm(run.dumpFolder, { recursive: true })
    }
    const result = await world.run(aPayload({ deadlineMs: 1e13 }), { deps, context, steps: { ...updateSteps, 'restore-stop': stop } })
    expect(result).toMatchObject({ outcome: 'rolled_back', snapshotOk: true })
    expect(await snapshots.ofCommand(repository, context.commandId)).toMatchObject({ id: result.snapshotId })
    expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
  },
  60_000,
)

test.skipIf(!program)(
  'with a real restic: packs that vanish from the store before its backup end an update that touched nothing',
  async () => {
    const world = await aWorld()
    const { snapshots, repository, context, deps } = await realStore(world)
    const { folder } = world.box.project
    await snapshots.prepare(repository)
    await snapshots.take(repository, { tier: 'manual', commandId: 'sn_1.snapshot', slug: 'oak', paths: [folder] })
    const fence: typeof updateSteps.fence = async (run) => {
      await rm(join(world.host.folder, 'repository', 'data'), { recursive: true })
      return updateSteps.fence(run)
    }
    const result = await world.run(aPayload({ deadlineMs: 1e13 }), { deps, context, steps: { ...updateSteps, fence } })
    expect(result).toMatchObject({
      outcome: 'failed',
      snapshotOk: false,
      error: { code: 'SNAPSHOT_FAILED', message: expect.stringContaining('no data was touched') },
    })
    expect(await world.fence()).toBeUndefined()
    expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
    expect(await snapshots.ofCommand(repository, context.commandId)).toBeUndefined()
  },
  60_000,
)
