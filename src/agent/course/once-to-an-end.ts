import type { AgentError } from '../../core/boxes/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import type { CommandRecord, OnceOnly } from '../journal/index.ts'
import type { CommandContext } from '../ports/index.ts'
import { type Ended, refuseOrAnswer } from './refuse-or-answer.ts'

type Work<Result> = Readonly<{ admit(): Promise<unknown>; perform(record: CommandRecord): Promise<Result> }>

/**
 * Does a command once, whatever comes of it: a failure is an end too, nothing is begun again for a command that the daemon has given up.
 * Only an abort (the agent drains), or a bug, leaves it open to be gone on with.
 */
export async function onceToAnEnd<Result>(
  once: OnceOnly,
  { commandId, signal }: Pick<CommandContext, 'commandId' | 'signal'>,
  command: Readonly<{ kind: string; payload: Readonly<{ slug: string }> }>,
  { admit, perform }: Work<Result>,
): Promise<Result> {
  const ended = await once<Ended<Result>>(
    { commandId, slug: command.payload.slug, ...command },
    {
      admit: async () => void (await admit()),
      perform: (record) =>
        perform(record).then(
          (result) => ({ result }),
          (error) => ({ failure: failureOf(error, signal) }),
        ),
    },
  )
  return refuseOrAnswer(ended)
}

function failureOf(error: unknown, signal: AbortSignal): AgentError {
  if (signal.aborted || !isProblem(error)) throw error
  return { code: error.code, message: error.message }
}
