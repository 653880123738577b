import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testbedExists } from '../testbed/testbed.ts'
import { adoptStack, startedStack } from './support/adopt-stack.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { stackSpecs } from './support/written-stack.ts'

// Stacks that their owners wrote and that cannot be adopted: each is refused with its reason and left untouched.

const specs = testbedExists() ? (await stackSpecs()).filter(({ refused }) => refused !== undefined) : []

let fleet: Fleet

beforeAll(async () => {
  fleet = await startFleet()
  await fleet.applySynapse('1.157.1')
})
logOnFailure(() => fleet)
afterAll(() => fleet?.end())

describe.skipIf(!testbedExists())('a stack that is refused, with', () => {
  // Two at a time: a start and an adoption often wait.
  test.concurrent.each(specs)('$name', async (spec) => {
    const { stack, talk } = await startedStack(fleet, spec)
    const before = { files: await stack.files(), containers: await stack.containers() }
    const { managed, said } = await adoptStack(fleet, stack)
    expect(said.replaceAll(/\s+/g, ' ')).toMatch(new RegExp(spec.refused as string))
    expect(managed).toBe(false)
    expect({ files: await stack.files(), containers: await stack.containers() }).toEqual(before)
    await talk.expectComplete()
    await stack.stop()
  })
})
