import type { BoxDetail } from '../../core/boxes/index.ts'
import type { Context } from '../kit/index.ts'
import { awaitCommand } from './await-command.ts'
import { shownBox } from './shown-box.ts'

type Accepted = Readonly<{ box: BoxDetail; commandId: string }>

/** Waits for the agent to have set a box up, and answers the box as it then is; without waiting, as it was accepted. */
export async function afterSetUp(context: Context, { box, commandId }: Accepted, wait: boolean): Promise<BoxDetail> {
  // One that was ready before was set up by a command that may be forgotten by now.
  if (!wait || box.status === 'ready') return box
  const { slug } = box
  const progress = await context.progress(`${slug}: handed to the agent of ${box.host}`)
  try {
    await awaitCommand(context, commandId, (line) => progress.update(`${slug}: ${line}`))
  } catch (error) {
    progress.fail(`${slug}: not set up`)
    throw error
  }
  progress.done(`${slug}: set up`)
  return shownBox(context, slug)
}
