import { expect, test } from 'vitest'
import { resumeRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { digestOf, newImage, rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('a tag under which the fleet runs another image, as the plan showed', (fresh) => {
  test('that moved once more after whoever resumes was told is told anew', async () => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', canary: true },
    ])
    await world.started({ targetSlugs: ['acme'] })
    await world.settle()
    const pulls = async (digest: string): Promise<void> => {
      for (let turn = 0; turn < 20; turn++) {
        await world.tick()
        for (const command of await world.open())
          if (command.kind === 'tenant-box.prefetch') await world.answer(command.id, { digests: { [newImage]: digest }, pulledMs: 1 })
          else if (command.kind === 'tenant-box.update') await world.take(command.id)
          else await world.work(command)
      }
    }
    const id = await world.started()
    const resumed = () => resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    const ofBeta = async () => (await world.show(id)).actions.find(({ tenantSlug }) => tenantSlug === 'beta')
    await pulls(digestOf('moved'))
    await resumed()
    await pulls(digestOf('moved again'))
    expect(await ofBeta()).toMatchObject({
      status: 'failed',
      error: { code: 'DIGEST_MISMATCH', message: expect.stringContaining(`${newImage} is ${digestOf('moved again')}`) },
    })
    await resumed()
    await pulls(digestOf('moved again'))
    expect((await world.show(id)).digests).toEqual({ [newImage]: digestOf('moved again') })
    expect(await world.commandIds()).toContain(`${id}.beta.3.update`)
  })
})
