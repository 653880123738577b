import { expect, test } from 'vitest'
import { instant } from '../../../src/agent/simulated/index.ts'
import { aPayload, aWorld, wrapped } from './an-update.ts'

test('a hanging load ends in a reported failed rollback', async () => {
  const world = await aWorld({
    profile: { ...instant, faults: [{ kind: 'probe-fails', components: ['chatSync'], times: 1_000 }] },
    change: () => ({ rollbackStepTimeoutMs: 3 * 86_400_000 }),
  })
  const deps = await world.agent((ports) => {
    const around = wrapped(ports, (_, act) => act())
    const hangs = (signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const loadDatabase = (_box: unknown, _dump: unknown, signal?: AbortSignal) => hangs(signal)
    const finishDatabaseLoad = (_box: unknown, _expected: unknown, signal?: AbortSignal) => hangs(signal)
    return { ...around, servers: { ...around.servers, loadDatabase, finishDatabaseLoad } }
  })
  const result = await world.run(aPayload({ probe: { consecutive: 1, spacingMs: 1_000, timeoutMs: 5_000 } }), { deps })
  expect(result).toMatchObject({
    outcome: 'rollback_failed',
    error: { code: 'RESTORE_FAILED', message: expect.stringContaining('the step restore-data did not end within') },
  })
  expect(await world.fence()).toBeDefined()
})
