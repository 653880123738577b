import type { RoomLedger } from '../backup/index.ts'
import type { CommandContext, CommandExecutors } from '../ports/index.ts'

type AnyExecutor = (context: CommandContext, payload: unknown) => Promise<unknown>

/** The same executors; the room that a command was given on this host's disks is free again when it ends, however that is. */
export function releaseRoom({ release }: Pick<RoomLedger, 'release'>, executors: CommandExecutors): CommandExecutors {
  const releasing = Object.entries(executors).map(([kind, execute]) => {
    const work: AnyExecutor = (context, payload) => (execute as AnyExecutor)(context, payload).finally(() => release(context.commandId))
    return [kind, work]
  })
  return Object.fromEntries(releasing) as CommandExecutors
}
