import { expect, onTestFinished, test, vi } from 'vitest'
import { openSession } from '../../../src/agent/box-servers/backup.ts'
import type { BoxView } from '../../../src/agent/box-servers/box-view.ts'
import type { ContainerEngine, ExecResult } from '../../../src/agent/ports/index.ts'

const login = { user: 'synapse', database: 'synapse', superuser: 'postgres' }
const view = { box: { slug: 'oak' }, container: () => ({ id: 'c1', state: 'running' }) } as unknown as BoxView

/** A psql that never answers; `isDeaf`: it does not even end when it is told to. */
function aHangingSession({ isDeaf }: Readonly<{ isDeaf: boolean }>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const exec: ContainerEngine['exec'] = (_, __, { signal } = {}) =>
    new Promise<ExecResult>((_, reject) => {
      if (!isDeaf) signal?.addEventListener('abort', () => reject(signal.reason))
    })
  const { signal } = new AbortController()
  return openSession({ engine: { exec } as unknown as ContainerEngine, view, login, signal })
}

test.each([false, true])(
  'a database that hangs holds up a question and the end of its session for a time only (deaf: %s)',
  async (isDeaf) => {
    const session = aHangingSession({ isDeaf })
    const asked = expect(session.ask('select 1;\n')).rejects.toMatchObject({
      code: 'SNAPSHOT_FAILED',
      message: expect.stringContaining('60 s'),
    })
    await vi.advanceTimersByTimeAsync(60_000)
    await asked
    const ended = session.end()
    await vi.advanceTimersByTimeAsync(20_000)
    await ended
  },
)
