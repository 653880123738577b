import type { CommandView } from '../../core/hosts/index.ts'
import { awaitCommand } from '../boxes/index.ts'
import type { Context } from '../kit/index.ts'

/** Waits for a box's command and tells each step. Throws the command's own error. */
export async function follow(context: Context, slug: string, commandId: string, doing: string): Promise<CommandView> {
  const progress = await context.progress(`${slug}: ${doing}`)
  try {
    return await awaitCommand(context, commandId, (line) => progress.update(`${slug}: ${line}`))
  } finally {
    progress.stop()
  }
}
