import { expect, test } from 'vitest'
import type { FileStore } from '../../../src/agent/journal/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { composeText, images } from '../simulated/boxes.ts'
import { aPayload, aWorld, newSynapse, type Ports, wrapped } from './an-update.ts'

// The engine fails one request, for longer than it is repeated: at every call of an update, before its effect or after it. The result is true
// and typed, and nothing stays fenced or stopped.

type When = 'before' | 'after'

/**
 * Fails the n-th call of the engine; `failed` names it. A call that was made since the last line of the journal is not counted again: it is made
 * in a loop.
 */
function failingOnce(place: number, when: When, fileStore: FileStore) {
  const calls = new Set<string>()
  let line = 0
  let failed: string | undefined
  const write: FileStore['write'] = (name, text) => {
    line++
    return fileStore.write(name, text)
  }
  const around = (ports: Ports): Ports => {
    const { engine } = wrapped(ports, async (name, act) => {
      const isNew = calls.size !== calls.add(`${line} ${name}`).size
      if (!isNew || calls.size !== place) return act()
      failed = name
      if (when === 'after') await act()
      throw problem('DOCKER_UNAVAILABLE', 'The container engine does not answer (ECONNRESET)')
    })
    return { ...ports, engine }
  }
  return { around, files: { ...fileStore, write }, failed: () => failed }
}

test.each([
  ['an update to a good image', 'before'],
  ['an update to a good image', 'after'],
  ['an update that is rolled back', 'before'],
  ['an update that is rolled back', 'after'],
] as const)(
  '%s: a request to the engine that fails %s its effect, at each place',
  async (path, when) => {
    const isGood = path === 'an update to a good image'
    const outcomes = new Set<string>()
    for (let place = 1; ; place++) {
      const world = await aWorld()
      if (!isGood) world.inject({ kind: 'probe-fails', image: newSynapse })
      const before = await world.host.engine.containers(world.box.project)
      const { around, files, failed } = failingOnce(place, when, world.fileStore)
      const result = await world.run(aPayload(), { deps: await world.agent(around, files) })
      const { outcome, error } = result
      const at = `call ${place}, ${failed()}, ${outcome}, ${error?.message}`
      if (failed() === undefined) break
      outcomes.add(outcome)
      expect(await world.fence(), at).toBeUndefined()
      expect(world.host.running(world.box.project.name), at).toEqual(['edge', 'synapse', 'postgres', 'minio'])
      expect(world.host.traffic.content(world.box), at).toMatchObject({ messages: 3, media: 1, objects: 1 })
      expect(world.host.traffic.sendMessage(world.box), at).toBe('stored')
      expect(await world.image('synapse'), at).toBe(outcome === 'committed' ? newSynapse : images.synapse)
      if (outcome === 'committed') expect([isGood, error], at).toEqual([true, null])
      else expect(['DOCKER_UNAVAILABLE', 'PROBE_FAILED'], at).toContain(error?.code)
      if (outcome !== 'failed') continue
      expect(error, at).toMatchObject({ code: 'DOCKER_UNAVAILABLE', message: expect.stringContaining('no container was replaced') })
      expect(await world.compose(), at).toBe(composeText('oak'))
      expect((await world.host.engine.containers(world.box.project)).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    }
    expect([...outcomes].toSorted()).toEqual(isGood ? ['committed', 'failed', 'rolled_back'] : ['failed', 'rolled_back'])
  },
  120_000,
)
