import { describe, expect, test } from 'vitest'
import type { ContainerState } from '../../../src/agent/ports/index.ts'
import { aPayload, aWorld } from './an-update.ts'

/** An update of a box in which MinIO has a second container, whenever the condition holds. */
async function withTwo(condition: (world: Awaited<ReturnType<typeof aWorld>>) => Promise<boolean>) {
  const world = await aWorld()
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: {
      ...ports.engine,
      containers: async (project) => {
        const containers = await ports.engine.containers(project)
        const twin = containers.filter(({ service }) => service === 'minio').map((one): ContainerState => ({ ...one, id: 'the-twin' }))
        return (await condition(world)) ? [...containers, ...twin] : containers
      },
    },
  }))
  // The clock of the test runs ahead of the files that the condition reads.
  const probe = { ...aPayload().probe, timeoutMs: 30 * 86_400_000, steadyFailureMs: 30 * 86_400_000 }
  return world.run(aPayload({ probe }), { deps })
}

describe('two containers of a service', () => {
  test('are refused before anything stops', async () => {
    expect(await withTwo(async () => true)).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(/minio has more than one container.*--scale minio=1/) },
    })
  })

  test('that appear during a good update do not roll it back', async () => {
    expect(await withTwo(async (world) => (await world.fence()) !== undefined)).toMatchObject({ outcome: 'committed' })
  })
})
