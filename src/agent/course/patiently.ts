import type { Clock } from '../../core/kit/index.ts'
import type { CommandContext } from '../ports/index.ts'

const againMs = 5_000

/**
 * Tries until it holds, and says what it waits for; only a drain ends it, and the command goes on at the next start. A box that is fenced must
 * not be left because its journal cannot be written.
 */
export async function patiently<Value>(
  { deps: { clock }, context: { signal, progress } }: Readonly<{ deps: Readonly<{ clock: Clock }>; context: CommandContext }>,
  what: string,
  act: () => Promise<Value>,
): Promise<Value> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      signal.throwIfAborted()
      progress({ step: 'waiting', detail: `${what}: ${(error as Error).message}`.slice(0, 300) })
      await clock.sleep(againMs, signal)
      signal.throwIfAborted()
    }
  }
}
