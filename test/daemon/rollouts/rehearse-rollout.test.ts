import { expect, test } from 'vitest'
import { isProblem, manualClock } from '../../../src/core/kit/index.ts'
import { type Rehearsal, type RehearsalInput, RehearsalRequest } from '../../../src/core/rollouts/index.ts'
import type { Rehearse } from '../../../src/daemon/rollouts/index.ts'
import { rehearsals } from '../../../src/daemon/rollouts/testing.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'

const wanted = RehearsalRequest.parse({})
const result = { seed: 1 } as Rehearsal

function aRoom(rehearse: Rehearse | undefined) {
  const clock = manualClock()
  const deps = {
    ...{ clock, rehearse, schemas: synapseSchemas, migrations: [] },
    ...{
      staleAfterMs: 1,
      offlineAfterMs: 1,
      fenceMaxMs: 1,
      upgrades: { keepFormerDays: 7, rehearsalMaxAgeMs: 1 },
      fences: { free: 'auto', pro: 'auto', enterprise: 'auto' } as const,
      snapshots: { free: 'before', pro: 'before', enterprise: 'before' } as const,
      probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
    },
    settings: { parallel: 3, perHost: 1, pollMs: 5000, actionDeadlineMs: 7_200_000 },
    windows: { timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } },
  }
  return { clock, play: rehearsals(deps) }
}

const never = () => new AbortController().signal
const failing = (code: Parameters<typeof isProblem>[1]) => expect.toSatisfy((error) => isProblem(error, code))

test('is given what the daemon goes by, and the moment', async () => {
  const given: RehearsalInput[] = []
  const { play, clock } = aRoom(async (one) => {
    given.push(one)
    return result
  })
  expect(await play(wanted, never())).toBe(result)
  expect(given).toMatchObject([{ request: wanted, startIso: clock.now().toISOString(), settings: { rollouts: { parallel: 3 } } }])
  expect(structuredClone(given)).toEqual(given)
})

const untilAborted: Rehearse = (_, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

test('ends with its caller, and after four minutes at the latest', async () => {
  const { play, clock } = aRoom(untilAborted)
  const caller = new AbortController()
  const left = play(wanted, caller.signal)
  caller.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  const long = play(wanted, never())
  const ended = expect(long).rejects.toEqual(failing('UNAVAILABLE'))
  await clock.advance(4 * 60_000)
  await ended
})

test('a daemon without a place for it says so', async () => {
  await expect(aRoom(undefined).play(wanted, never())).rejects.toEqual(failing('UNAVAILABLE'))
})
