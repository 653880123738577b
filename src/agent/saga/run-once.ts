import type { AgentError } from '../../core/boxes/index.ts'
import { isProblem, isProblemCode, problem } from '../../core/kit/index.ts'
import { type CommandRecord, isFullDisk, type OnceOnly } from '../journal/index.ts'
import type { CommandContext } from '../ports/index.ts'

/** How a command ends whose failures are thrown: the daemon gets the same failure when it sends the command again. */
export type EndedCommand<Result> = Readonly<{ result: Result }> | Readonly<{ failure: AgentError }>

export function resultOrThrow<Result>(ended: EndedCommand<Result>): Result {
  if ('result' in ended) return ended.result
  const { code, message } = ended.failure
  throw problem(isProblemCode(code) ? code : 'INTERNAL', message)
}

type Work<Result> = Readonly<{ admit(): Promise<unknown>; perform(record: CommandRecord): Promise<Result> }>

/** Runs a command once; a failure is stored as its end. Only an abort (the agent drains) or a bug leaves the command open. */
export async function runOnce<Result>(
  once: OnceOnly,
  {
    context,
    lock,
    ...command
  }: Readonly<{
    context: Pick<CommandContext, 'commandId' | 'signal'>
    kind: string
    payload: Readonly<{ slug: string }>
    /** Default: the box. */
    lock?: string
  }>,
  { admit, perform }: Work<Result>,
): Promise<Result> {
  const { commandId, signal } = context
  const ended = await once<EndedCommand<Result>>(
    { commandId, slug: lock ?? command.payload.slug, ...command },
    {
      admit: async () => void (await admit()),
      perform: (record) =>
        perform(record).then(
          (result) => ({ result }),
          (error) => ({ failure: failureOf(error, signal) }),
        ),
    },
  )
  return resultOrThrow(ended)
}

function failureOf(error: unknown, signal: AbortSignal): AgentError {
  if (!signal.aborted && isProblem(error)) return { code: error.code, message: error.message }
  if (!signal.aborted && isFullDisk(error))
    return { code: 'DISK_FULL', message: `the disk of this host is full: ${(error as Error).message}` }
  throw error
}
