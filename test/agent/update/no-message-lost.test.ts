import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fault } from '../../../src/agent/simulated/index.ts'
import { readIfThere } from '../../../src/node/index.ts'
import { composeText } from '../simulated/boxes.ts'
import { aContext, aPayload, aWorld, newSynapse, type Ports, withoutDaemon, wrapped } from './an-update.ts'
import { mortal, storeWhileAlive } from './mortal.ts'

// The promise itself: users write all the time, things fail, agents die again and again. What was answered with "stored" is there at the end.

type Payload = ReturnType<typeof aPayload>

const aFault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant('probe-fails' as const), image: fc.constant(newSynapse) }),
  fc.record({ kind: fc.constant('dies-at-start' as const), image: fc.constant(newSynapse) }),
  fc.record({
    kind: fc.constantFrom(
      'engine-down',
      'stop-fails',
      'dump-fails',
      'load-fails',
      'store-down',
      'snapshot-fails',
      'probe-fails',
      'registry-down',
    ),
    times: fc.integer({ min: 1, max: 4 }),
  }) as fc.Arbitrary<Fault>,
)
const aDeath = fc.record({ at: fc.integer({ min: 1, max: 70 }), when: fc.constantFrom('before' as const, 'after' as const) })
const aStory = fc.record({
  faults: fc.array(aFault, { maxLength: 3 }),
  deaths: fc.array(aDeath, { maxLength: 4 }),
  daemonAway: fc.boolean(),
  fence: fc.constantFrom<Payload['fence']>(
    { mode: 'until-stable' },
    { mode: 'until-proven', formerSchema: 94 },
    { mode: 'until-proven', formerSchema: 94, snapshot: 'hot' },
    { mode: 'none', formerSchema: 94, snapshot: 'hot' },
  ),
})

test('no message that was answered as stored is ever lost, whatever fails and however often the agent dies', async () => {
  await fc.assert(fc.asyncProperty(aStory, live), { numRuns: 200 })
})

async function live({ faults, deaths, daemonAway, fence }: typeof aStory extends fc.Arbitrary<infer Story> ? Story : never): Promise<void> {
  const world = await aWorld()
  const stopFailing = faults.map((fault) => world.inject(fault))
  let stored = 3
  const users = (ports: Ports) =>
    wrapped(ports, async (_, act) => {
      if (world.host.traffic.sendMessage(world.box) === 'stored') stored += 1
      return act()
    })
  const secrets = aContext().secrets
  const asked = async () => (daemonAway && (await world.fence()) !== undefined ? withoutDaemon() : secrets())

  for (const { at, when } of deaths) {
    const life = mortal((touch) => touch === at, when)
    const deps = await world.agent((ports) => users(wrapped(ports, life.touch)), storeWhileAlive(world.fileStore, life))
    await world.run(aPayload({ fence }), { deps, context: aContext({ signal: life.signal, secrets: asked }) }).catch(() => undefined)
  }
  const { outcome, leftOpen } = await world.run(aPayload({ fence }), {
    deps: await world.agent(users),
    context: aContext({ secrets: asked }),
  })
  for (const heal of stopFailing) heal()

  const { messages } = world.host.traffic.content(world.box)
  const services = world.host.running(world.box.project.name)
  if (outcome === 'rollback_failed') {
    expect(await world.fence()).toBeDefined()
    expect(services).not.toContain('synapse')
    expect(world.host.volumeNames()).toContain('box-oak-postgres')
    const kept = world.host.volumeNames().filter((name) => name.startsWith('box-oak-postgres'))
    const contentOf = async (name: string) => readIfThere(join((await world.host.engine.volumePath(name)) as string, 'content.json'))
    const messagesIn = async (name: string): Promise<number> => JSON.parse((await contentOf(name)) ?? '{"messages":0}').messages
    expect(Math.max(...(await Promise.all(kept.map(messagesIn))))).toBeGreaterThanOrEqual(stored)
    return
  }
  expect(messages).toBe(stored)
  expect(await world.fence()).toBeUndefined()
  if (outcome === 'committed') expect(await world.compose()).toBe(composeText('oak', { synapse: newSynapse }))
  if (outcome === 'failed' && !leftOpen) expect(await world.compose()).toBe(composeText('oak'))
  if (outcome === 'rolled_back') expect((await world.compose()).replace(/-r[0-9a-f]{8}-[0-9]+/, '')).toBe(composeText('oak'))
}
