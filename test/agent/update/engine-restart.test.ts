import { expect, test } from 'vitest'
import type { ContainerState } from '../../../src/agent/ports/index.ts'
import { aWorld } from './an-update.ts'

const countedFrom = async (restarts: (probes: number) => number) => {
  const world = await aWorld()
  let probes = 0
  const needs = await world.agent((ports) => ({
    ...ports,
    inside: {
      ...ports.inside,
      probe: (...given) => {
        probes += 1
        return ports.inside.probe(...given)
      },
    },
    engine: {
      ...ports.engine,
      containers: async (project) =>
        (await ports.engine.containers(project)).map(
          (container): ContainerState => (container.service === 'edge' ? { ...container, restartCount: restarts(probes) } : container),
        ),
    },
  }))
  return world.run(undefined, { needs })
}

test('an engine that starts anew while the box is probed, and counts restarts from zero, takes no good update back', async () => {
  expect(await countedFrom((probes) => (probes === 0 ? 2 : 0))).toMatchObject({ outcome: 'committed' })
})

test('one more restart than before does', async () => {
  expect(await countedFrom((probes) => (probes === 0 ? 0 : 1))).toMatchObject({ error: { code: 'PROBE_FAILED' } })
})
