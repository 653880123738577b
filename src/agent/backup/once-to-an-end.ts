import { isProblem, isProblemCode, problem } from '../../core/kit/index.ts'
import type { CommandRecord, OnceOnly } from '../journal/index.ts'
import type { CommandContext } from '../ports/index.ts'

/** A failure is an end too: the daemon gets the same one again, and nothing is taken for a command that it has given up. */
type Ended<Result> = { result: Result } | { failure: { code: string; message: string } }

type Work<Result> = Readonly<{ admit(): Promise<unknown>; perform(record: CommandRecord): Promise<Result> }>

/** Does a command once, whatever comes of it. Only an abort (the agent drains), or a bug, leaves it open to be gone on with. */
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
  if ('result' in ended) return ended.result
  const { code, message } = ended.failure
  throw problem(isProblemCode(code) ? code : 'INTERNAL', message)
}

function failureOf(error: unknown, signal: AbortSignal): { code: string; message: string } {
  if (signal.aborted || !isProblem(error)) throw error
  return { code: error.code, message: error.message }
}
