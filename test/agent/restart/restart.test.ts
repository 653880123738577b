import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { fenceFile, provision } from '../../../src/agent/boxes/index.ts'
import { memoryLocks, memoryStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import { restart } from '../../../src/agent/restart/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { aContext, anAgent, aProvision } from '../boxes/provisioning.ts'
import { moving } from '../simulated/boxes.ts'

const known = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }

async function aBox() {
  const agent = await anAgent()
  const { clock } = agent.host
  await moving(clock, () => provision(agent.deps)(aContext().context, aProvision()), 10_000)
  const box = (await agent.deps.boxes.find('oak'))!
  const journal = await openJournal({ store: memoryStore(), clock })
  const stopped: string[] = []
  const engine: typeof agent.deps.engine = {
    ...agent.deps.engine,
    stop: async (project, services) => {
      stopped.push(...services)
      await agent.deps.engine.stop(project, services)
    },
  }
  const states = async () => Object.fromEntries((await engine.containers(box.project)).map(({ service, state }) => [service, state]))
  const ids = async () => (await engine.containers(box.project)).map(({ id }) => id).sort()
  const run = (changed: Partial<typeof engine> = {}) => {
    const deps = { ...agent.deps, engine: { ...engine, ...changed }, once: onceOnly({ journal, locks: memoryLocks() }) }
    return moving(clock, () => restart(deps, 'tenant-box.restart')(aContext().context, known), 10_000)
  }
  return { ...agent, box, stopped, engine, states, ids, run }
}

test('a restart stops and starts every service of the same containers, the chat server first and last, and proves the box', async () => {
  const { host, box, stopped, ids, states, run } = await aBox()
  const before = await ids()
  expect(host.traffic.sendMessage(box)).toBe('stored')
  const result = await run()
  expect(stopped).toEqual(['synapse', 'minio', 'postgres', 'edge'])
  expect(await ids()).toEqual(before)
  expect(new Set(Object.values(await states()))).toEqual(new Set(['running']))
  expect(result).toMatchObject({ probe: { verdict: 'ok' }, report: { fenced: false } })
  expect(host.traffic.sendMessage(box)).toBe('stored')
})

test('the same command again answers the stored result and restarts nothing', async () => {
  const { stopped, run } = await aBox()
  const first = await run()
  expect(await run()).toEqual(first)
  expect(stopped).toHaveLength(4)
})

test('a failure on the way is reported and leaves no service stopped', async () => {
  const { states, run, engine } = await aBox()
  const stop: typeof engine.stop = async (project, services) => {
    await engine.stop(project, services)
    if (services.includes('minio')) throw problem('DOCKER_UNAVAILABLE', 'the engine is gone')
  }
  await expect(run({ stop })).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
  expect(new Set(Object.values(await states()))).toEqual(new Set(['running']))
})

test('a fenced box is refused and not touched', async () => {
  const { box, stopped, run } = await aBox()
  await writeFile(fenceFile(box.project), '{"holder":"maintenance","raisedAt":"2026-01-01T00:00:00.000Z"}\n')
  await expect(run()).rejects.toMatchObject({ code: 'BOX_HELD', message: expect.stringContaining('it cannot be restarted') })
  expect(stopped).toEqual([])
})
