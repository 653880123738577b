import type { CommandBus } from '../../hosts/index.ts'
import type { Watcher } from '../rollout-bus.ts'
import type { WaitedFor } from './round.ts'

/** The commands that rollouts wait for, and which of these rollouts have heard from one since they were asked last. */
export type Waited = Readonly<{
  listen(looked: ReadonlyMap<string, readonly WaitedFor[]>): void
  /** Those that are about to be looked at, or all of them. */
  forget(rolloutIds?: readonly string[]): void
  /** Each is answered once. */
  answered(): readonly string[]
}>

export function makeWaited(bus: Pick<CommandBus, 'untilChanged'>, watcher: Pick<Watcher, 'stir'>): Waited {
  const cancels = new Map<string, readonly (() => void)[]>()
  const answered = new Set<string>()
  const hear = (rolloutId: string) => {
    answered.add(rolloutId)
    watcher.stir()
  }
  const listen = (rolloutId: string, commands: readonly WaitedFor[]) => {
    const waitings = commands.map(({ id, revision }) => bus.untilChanged(id, revision))
    for (const { woken } of waitings) void woken.then(() => hear(rolloutId))
    cancels.set(
      rolloutId,
      waitings.map(({ cancel }) => cancel),
    )
  }
  const forget = (rolloutIds: readonly string[] = [...cancels.keys()]) => {
    for (const id of rolloutIds) {
      for (const cancel of cancels.get(id) ?? []) cancel()
      cancels.delete(id)
      answered.delete(id)
    }
  }
  return {
    listen: (looked) => {
      for (const [id, commands] of looked) listen(id, commands)
    },
    forget,
    answered: () => [...answered],
  }
}
