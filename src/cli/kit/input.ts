import { isProblem, problem } from '../../core/kit/index.ts'
import type { Machine } from './terminal.ts'

/** Prompts to a person. Each throws USAGE when stdin is not a terminal, so that a script never hangs. `fix` names the option a script passes. */
export type Ask = Readonly<{
  /** stdin is a terminal. */
  interactive: boolean
  text: (message: string, fix: string) => Promise<string>
  /** May be left empty. */
  optionalText: (message: string, fix: string) => Promise<string>
  /** Typed without echo. */
  password: (message: string, fix: string) => Promise<string>
  /** Yes or no; `--yes` confirms without a prompt. */
  confirm: (message: string) => Promise<boolean>
}>

/** Prompts on stderr, so that a redirected stdout holds results only. */
export function promptOn({ stdin, stderr, signal }: Pick<Machine, 'stdin' | 'stderr' | 'signal'>, yes: boolean): Ask {
  const interactive = stdin.isTTY === true
  const context = { input: stdin as NodeJS.ReadStream, output: stderr as NodeJS.WriteStream, signal }
  const prompt = async <Answer>(missing: string, fix: string, run: (prompts: PromptLibrary) => Promise<Answer>): Promise<Answer> => {
    if (!interactive) throw problem('USAGE', `${missing} required, but stdin is not a terminal. fix: ${fix}`)
    return run(await import('@inquirer/prompts')).catch((error: Error) => {
      throw leftPrompt.test(error.name) ? problem('CANCELLED', 'cancelled at the prompt; nothing was changed') : error
    })
  }
  const quoted = (message: string) => `"${message.replace(/:$/, '')}"`
  return {
    interactive,
    optionalText: (message, fix) => prompt(quoted(message), fix, ({ input }) => input({ message }, context)),
    text: (message, fix) => prompt(quoted(message), fix, ({ input }) => input({ message, required: true }, context)),
    password: (message, fix) => prompt(quoted(message), fix, ({ password }) => password({ message, mask: false }, context)),
    confirm: async (message) => yes || prompt('Confirmation', 'pass --yes', ({ confirm }) => confirm({ message, default: false }, context)),
  }
}

type PromptLibrary = typeof import('@inquirer/prompts')
const leftPrompt = /^(Exit|Abort)Prompt/

/** Throws CANCELLED when the answer is no. */
export async function assertConfirmed({ confirm }: Ask, message: string): Promise<void> {
  if (!(await confirm(message))) throw problem('CANCELLED', 'not confirmed; nothing was changed')
}

type Asking = Readonly<{ ask: Ask; yes: boolean }>

/**
 * The same about one thing, which `read` reads before the question: a mistyped name fails as such, and not for want of `--yes`. With `--yes`
 * the command itself reads it. Throws what `read` throws, NOT_FOUND above all.
 */
export async function assertConfirmedOf({ ask, yes }: Asking, message: string, read: () => Promise<unknown>): Promise<void> {
  if (!yes) await read()
  await assertConfirmed(ask, message)
}

const fileFaults: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read by you',
  EPERM: 'it may not be read by you',
}

/** The text of a file named on the command line. Throws USAGE when it cannot be read or is not UTF-8; `hint` is added if it does not exist. */
export async function readTextFile(file: string, hint = ''): Promise<string> {
  const { readUtf8 } = await import('../../node/utf8-file.ts')
  return readUtf8(file, { code: 'USAGE' }).catch((error) => explainUnreadable(error, file, hint))
}

/** The content of a file named on the command line. Throws USAGE when it cannot be read. */
export async function readFileBytes(file: string): Promise<Uint8Array> {
  const { readFile } = await import('node:fs/promises')
  return readFile(file).catch((error) => explainUnreadable(error, file, ''))
}

function explainUnreadable(error: NodeJS.ErrnoException, file: string, hint: string): never {
  if (isProblem(error)) throw error
  const { code = 'unknown' } = error
  const fix = code === 'ENOENT' && hint !== '' ? `. fix: ${hint}` : ''
  throw problem('USAGE', `cannot read ${file || '""'}: ${fileFaults[code] ?? code}${fix}`)
}

/** A result is not written into a new folder, whose name may be mistyped. Throws USAGE. */
export async function assertFolderOf(file: string): Promise<void> {
  const [{ stat }, { dirname }] = await Promise.all([import('node:fs/promises'), import('node:path')])
  const found = await stat(dirname(file)).catch(() => undefined)
  if (!found?.isDirectory()) throw problem('USAGE', `cannot write ${file}: the folder ${dirname(file)} does not exist`)
}

/** The lines of a file that holds secrets; `-` is stdin. Throws USAGE when the first line, `what`, is empty. */
export async function readSecretLines(
  { readStdin }: Readonly<{ readStdin: () => Promise<string> }>,
  file: string,
  what: string,
): Promise<[first: string, ...others: string[]]> {
  const [first = '', ...others] = (file === '-' ? await readStdin() : await readTextFile(file)).split(/\r?\n/)
  if (first === '') throw problem('USAGE', `the first line of ${file} is empty; expected the ${what}`)
  return [first, ...others]
}
