import type { CommandView } from '../../core/hosts/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { type Context, clean } from '../kit/index.ts'
import { awaitCommand } from './await-command.ts'

/** Waits for one command with its steps on stderr. Throws the command's own error. */
export async function toldCommand(context: Context, commandId: string, what: string): Promise<CommandView> {
  const progress = await context.progress(what)
  try {
    return await awaitCommand(context, commandId, (line) => progress.update(`${what}: ${line}`))
  } finally {
    progress.stop()
  }
}

type Stage = Readonly<{ state: string; commandId: string | null }>

/**
 * Follows what goes from command to command, each of which the daemon gives when the one before has ended, until none is waited for any more
 * or nothing more is heard of the last one.
 */
export async function followCommands<One extends Stage>(
  context: Context,
  slug: string,
  begun: One,
  again: () => Promise<One>,
): Promise<One> {
  let now = begun
  const progress = await context.progress(`${slug}: ${spokenState(now.state)}`)
  try {
    while (now.commandId !== null) {
      const { commandId } = now
      const tell = (line: string) => progress.update(`${slug}: ${line}`)
      await awaitCommand(context, commandId, tell).catch((error: unknown) => {
        if (!isProblem(error)) throw error
        tell(clean(error.message))
      })
      now = await again()
      if (now.commandId === commandId) return now
      tell(spokenState(now.state))
    }
    return now
  } finally {
    progress.stop()
  }
}

/** `handing_over` on the wire, `handing over` for people. */
export const spokenState = (state: string): string => state.replaceAll('_', ' ')
