import { expect, test } from 'vitest'
import { type UpdateSteps, updateSteps } from '../../../src/agent/update/update.ts'
import { aPayload, aWorld } from './an-update.ts'

const proven = { mode: 'until-proven' as const, formerSchema: 94 }

/** Runs an update and returns its calls between the start and the end of the fence, in their order. */
async function callsWhileClosed(): Promise<string[]> {
  const world = await aWorld()
  const calls: string[] = []
  let isClosed = false
  const noted =
    <Args extends readonly unknown[], Result>(name: string, call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      if (isClosed) calls.push(name)
      return call(...args)
    }
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: { ...ports.engine, resolveCompose: noted('compose', ports.engine.resolveCompose) },
    servers: {
      ...ports.servers,
      databaseBytes: noted('size', ports.servers.databaseBytes),
      databaseFacts: noted('facts', ports.servers.databaseFacts),
      probe: noted('probe', ports.servers.probe),
    },
  }))
  const steps: UpdateSteps = {
    ...updateSteps,
    fence: async (run) => {
      await updateSteps.fence(run)
      isClosed = true
    },
    unfence: async (run) => {
      isClosed = false
      return updateSteps.unfence(run)
    },
  }
  expect(await world.run(aPayload({ fence: proven }), { deps, steps })).toMatchObject({
    outcome: 'committed',
    downtime: { mode: 'until-proven' },
  })
  return calls
}

test('what is known from before is not asked again while users wait, and the database once, beside the last quick probe', async () => {
  expect(await callsWhileClosed()).toEqual(['probe', 'probe', 'probe', 'facts'])
})
