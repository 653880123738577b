import { problem } from '../../core/kit/index.ts'

/** Questions to a person. Each throws USAGE when stdin is no terminal: a script never hangs. */
export type Ask = Readonly<{
  /** Somebody is there to be asked. */
  interactive: boolean
  text: (message: string, instead: string) => Promise<string>
  /** May be left empty. */
  optionalText: (message: string, instead: string) => Promise<string>
  /** Typed without echo. */
  password: (message: string, instead: string) => Promise<string>
  /** Yes or no; `--yes` answers for the person. */
  confirm: (message: string) => Promise<boolean>
}>

type AskDeps = Readonly<{ interactive: boolean; yes: boolean; signal: AbortSignal }>

/** Prompts on stderr, so that a redirected stdout holds results only. `instead` says how a script would give the answer. */
export function promptOn({ interactive, yes, signal }: AskDeps): Ask {
  const place = { output: process.stderr, signal }
  const asked = async <Answer>(what: string, instead: string, prompt: (prompts: PromptLibrary) => Promise<Answer>): Promise<Answer> => {
    if (!interactive) throw problem('USAGE', `"${what.replace(/:$/, '')}" would be asked for, but stdin is no terminal: ${instead}`)
    return prompt(await import('@inquirer/prompts')).catch((error: Error) => {
      throw leftPrompt.test(error.name) ? problem('CANCELLED', 'stopped at the question; nothing was changed') : error
    })
  }
  return {
    interactive,
    optionalText: (message, instead) => asked(message, instead, ({ input }) => input({ message }, place)),
    text: (message, instead) => asked(message, instead, ({ input }) => input({ message, required: true }, place)),
    password: (message, instead) => asked(message, instead, ({ password }) => password({ message, mask: false }, place)),
    confirm: async (message) =>
      yes || asked(message, 'give --yes to go on without being asked', ({ confirm }) => confirm({ message, default: false }, place)),
  }
}

type PromptLibrary = typeof import('@inquirer/prompts')
const leftPrompt = /^(Exit|Abort)Prompt/

/** Asks, and throws when the answer is no. */
export async function assertConfirmed({ confirm }: Ask, message: string): Promise<void> {
  if (!(await confirm(message))) throw problem('CANCELLED', 'the answer was no; nothing was changed')
}

/** The text of a file that was named on the command line; throws USAGE when it cannot be read. */
export async function readTextFile(file: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw problem('USAGE', `${file} cannot be read (${error.code}): give the path of a file that you may read`)
  })
}
