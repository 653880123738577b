import type { ExitCode } from '../../core/kit/index.ts'
import type { Tree } from './command.ts'
import type { Typed } from './failure.ts'
import { type Parsed, parseCommandLine } from './program.ts'
import type { Machine } from './terminal.ts'

/** Runs one command line to its exit code. Results go to stdout, all else to stderr; nothing is thrown. Help needs nothing of what running needs. */
export async function runCommandLine(tree: Tree, argv: readonly string[], version: string, machine: Machine): Promise<ExitCode> {
  let parsed: Parsed | undefined
  try {
    parsed = parseCommandLine(tree, argv, version, machine)
    return parsed ? await (await import('./run-parsed.ts')).runParsed(parsed, machine) : 0
  } catch (error) {
    const typed = parsed?.typed ?? typedWords(tree, argv)
    const globals = parsed?.globals ?? { json: argv.includes('--json'), color: !argv.includes('--no-color') }
    return (await import('./tell-failure.ts')).tellFailure(error, typed, globals, machine)
  }
}

/** Which help fits, when the line itself could not be read. */
function typedWords(tree: Tree, argv: readonly string[]): Typed {
  const words = argv.filter((word) => !word.startsWith('-'))
  const noun = tree.nouns.find(({ name }) => name === words[0])
  const verb = (noun?.verbs ?? tree.alone).find(({ name }) => name === words[noun ? 1 : 0])
  return { ...(noun ? { noun: noun.name } : {}), ...(verb ? { verb: verb.name } : {}) }
}
