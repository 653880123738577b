import { problem } from '../../core/kit/index.ts'

/** Questions to a person. Each throws USAGE when stdin is no terminal: a script never hangs. */
export type Ask = Readonly<{
  /** Somebody is there to be asked. */
  interactive: boolean
  text: (message: string, instead: string) => Promise<string>
  /** May be left empty. */
  maybe: (message: string, instead: string) => Promise<string>
  /** Typed without echo. */
  password: (message: string, instead: string) => Promise<string>
  /** Yes or no; `--yes` answers for the person. */
  confirm: (message: string) => Promise<boolean>
}>

type AskDeps = Readonly<{ interactive: boolean; yes: boolean; signal: AbortSignal }>

/** Prompts on stderr, so that a redirected stdout holds results only. `instead` says how a script would give the answer. */
export function askPerson({ interactive, yes, signal }: AskDeps): Ask {
  const place = { output: process.stderr, signal }
  const asked = async <Answer>(what: string, instead: string, prompt: (prompts: Prompts) => Promise<Answer>): Promise<Answer> => {
    if (!interactive) throw problem('USAGE', `"${what.replace(/:$/, '')}" would be asked for, but stdin is no terminal: ${instead}`)
    return prompt(await import('@inquirer/prompts')).catch((error: Error) => {
      throw leftPrompt.test(error.name) ? problem('CANCELLED', 'stopped at the question; nothing was changed') : error
    })
  }
  return {
    interactive,
    maybe: (message, instead) => asked(message, instead, ({ input }) => input({ message }, place)),
    text: (message, instead) => asked(message, instead, ({ input }) => input({ message, required: true }, place)),
    password: (message, instead) => asked(message, instead, ({ password }) => password({ message, mask: false }, place)),
    confirm: async (message) =>
      yes || asked(message, 'give --yes to go on without being asked', ({ confirm }) => confirm({ message, default: false }, place)),
  }
}

type Prompts = typeof import('@inquirer/prompts')
const leftPrompt = /^(Exit|Abort)Prompt/

/** Asks, and throws when the answer is no. */
export async function mustConfirm({ confirm }: Ask, message: string): Promise<void> {
  if (!(await confirm(message))) throw problem('CANCELLED', 'the answer was no; nothing was changed')
}
