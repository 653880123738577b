import { describe, expect, test } from 'vitest'
import type { ContainerState } from '../../../src/agent/ports/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { aPayload, aWorld, newSynapse } from './an-update.ts'

const countedFrom = async (restarts: (probes: number) => number) => {
  const world = await aWorld()
  let probes = 0
  const deps = await world.agent((ports) => ({
    ...ports,
    servers: {
      ...ports.servers,
      probe: (...given) => {
        probes += 1
        return ports.servers.probe(...given)
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
  return world.run(undefined, { deps })
}

test('an engine restart during the probes, which resets restart counts, does not roll back a good update', async () => {
  expect(await countedFrom((probes) => (probes === 0 ? 2 : 0))).toMatchObject({ outcome: 'committed' })
})

test('one more restart than before does', async () => {
  expect(await countedFrom((probes) => (probes === 0 ? 0 : 1))).toMatchObject({ error: { code: 'PROBE_FAILED' } })
})

describe('a host that restarts while a good update is probed', () => {
  /** Each container as it is at the n-th look between probes. */
  const seenAs = async (
    look: (container: ContainerState, looks: number, probes: number) => ContainerState,
    down: (looks: number) => boolean = () => false,
  ) => {
    const world = await aWorld()
    let looks = 0
    let probes = 0
    const deps = await world.agent((ports) => ({
      ...ports,
      servers: {
        ...ports.servers,
        probe: (...given) => {
          probes += 1
          return ports.servers.probe(...given)
        },
      },
      engine: {
        ...ports.engine,
        containers: async (project) => {
          const containers = await ports.engine.containers(project)
          const probing = containers.some(
            ({ service, image, state }) => service === 'synapse' && image === newSynapse && state === 'running',
          )
          if (!probing || (await world.fence()) === undefined) return containers
          looks += 1
          if (down(looks)) throw problem('DOCKER_UNAVAILABLE', 'the engine starts')
          return containers.map((container) => look(container, looks, probes))
        },
      },
    }))
    // Far away, because time passes freely while the fence is looked at.
    const probe = { consecutive: 3, spacingMs: 60_000, timeoutMs: 365 * 86_400_000 }
    return world.run(aPayload({ probe, deadlineMs: 365 * 86_400_000 }), { deps })
  }
  // The first look takes the baseline, the second is before the first probe.
  const booted = (container: ContainerState): ContainerState => ({ ...container, startedAt: '2030-01-01T00:00:00Z' })
  const restarts = (container: ContainerState, restartCount: number): ContainerState =>
    container.service === 'synapse' ? { ...container, restartCount } : container

  test('its chat server may die a few times before its database is up', async () => {
    const story = (container: ContainerState, looks: number): ContainerState => {
      if (looks < 3) return container
      const state = looks === 3 && container.service === 'synapse' ? ('restarting' as const) : container.state
      return restarts({ ...booted(container), state }, 2)
    }
    expect(await seenAs(story)).toMatchObject({ outcome: 'committed' })
  })

  test('all of it may be down for a moment, and the engine may not answer', async () => {
    const story = (container: ContainerState, looks: number): ContainerState =>
      looks === 4 ? { ...container, state: 'exited', exitCode: 255 } : looks < 4 ? container : booted(container)
    expect(await seenAs(story, (looks) => looks === 3)).toMatchObject({ outcome: 'committed' })
  })

  test('after a good probe no restart is borne any more', async () => {
    const story = (container: ContainerState, looks: number, probes: number): ContainerState =>
      looks < 3 ? container : restarts(booted(container), probes < 3 ? 1 : 2)
    expect(await seenAs(story)).toMatchObject({ outcome: 'rolled_back', error: { code: 'PROBE_FAILED' } })
  })

  test('a chat server that dies while the others keep running is not a host restart', async () => {
    const story = (container: ContainerState, looks: number): ContainerState =>
      looks < 3 || container.service !== 'synapse' ? container : booted(restarts(container, 1))
    expect(await seenAs(story)).toMatchObject({ outcome: 'rolled_back', error: { code: 'PROBE_FAILED' } })
  })
})
