import { expect, test } from 'vitest'
import { makeClient } from '../../../src/core/contract/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import { rolloutsContract } from '../../../src/core/rollouts/index.ts'
import { rolloutsRoutes } from '../../../src/daemon/rollouts/index.ts'
import { resumeRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'
import { servedApp } from '../../support/served-app.ts'

onBothDialects('the updates of a box', (fresh) => {
  test('each attempt is one of them, newest first, and those of other boxes are not', async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }, { slug: 'beta' }])
    const { url: baseUrl } = await servedApp(rolloutsRoutes(world.deps), {
      authenticate: { admin: async () => ({ ...anOperator, role: 'operator' as const }) },
      clock: world.clock,
    })
    const api = makeClient(rolloutsContract, { baseUrl, headers: () => ({ connection: 'close' }) })
    const updatesOf = async (slug: string) => (await api.listBoxUpdates({ params: { slug } })).updates
    expect(await updatesOf('acme')).toEqual([])
    world.fates.set('acme', ['rolls-back', 'commits'])
    const id = await world.started()
    await world.settle()
    await world.clock.advance(60_000)
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
    await world.settle()
    const updates = await updatesOf('acme')
    expect(updates.map(({ attempt, status, kind }) => [attempt, kind, status])).toEqual([
      [2, 'update', 'succeeded'],
      [1, 'update', 'rolled_back'],
    ])
    expect(updates[1]).toMatchObject({
      ...{ rolloutId: id, from: { synapse: '1.157.1' }, to: { synapse: '1.163.2' } },
      error: { code: 'PROBE_FAILED' },
    })
    expect((await updatesOf('beta')).map(({ attempt }) => attempt)).toEqual([1])
    await expect(updatesOf('nobody')).rejects.toSatisfy((error: unknown) => isProblem(error, 'NOT_FOUND'))
  })
})
