import { Command as Commander, type CommanderError, type Help, InvalidArgumentError, Option } from 'commander'
import { type ExitCode, problem } from '../../core/kit/index.ts'
import { minHelpColumns, outputOf, usageErrorText } from '../../node/command-line.ts'
import { about, firstPage, globalOptions, helpColumns } from '../first-page.ts'
import type { Command, Noun, OptionSpec, Tree } from './command.ts'
import type { TypedCommand } from './failure.ts'
import type { Globals } from './globals.ts'
import type { Parsed } from './run.ts'
import type { Machine } from './terminal.ts'

type Names = Readonly<{ noun?: Noun; verb?: Command }>

/** Parses a command line. Returns undefined when it printed help or the version; throws USAGE for a line that does not parse. */
function parseCommandLine(
  { tree, version }: Readonly<{ tree: Tree; version: string }>,
  argv: readonly string[],
  machine: Machine,
): Parsed | undefined {
  const found: { parsed?: Parsed } = {}
  const store = (names: Names, command: Command) => (built: Commander, values: readonly unknown[]) => {
    found.parsed = parsedOf(names, command, { built, args: values })
  }
  const program = root(tree, version, machine)
  for (const noun of tree.nouns) {
    const built = program.command(noun.name).description(noun.summary).usage('<verb> [options]').helpCommand(false)
    built.addHelpText('after', `\nOptions: tenantry ${noun.name} <verb> --help; of every command: tenantry --help`)
    const loaded = noun.verbs.filter((verb) => !verb.nameOnly)
    for (const verb of loaded) addCommand(built, verb, { before: `${noun.name} `, action: store({ noun, verb }, verb) })
  }
  for (const verb of tree.alone) addCommand(program, verb, { before: '', action: store({ verb }, verb) })
  try {
    program.parse([...argv], { from: 'user' })
  } catch (error) {
    if (isCommanderError(error)) return throwUsage(error)
    throw error
  }
  return found.parsed
}

function root(tree: Tree, version: string, machine: Machine): Commander {
  const program = new Commander('tenantry')
    .description(about)
    .version(version, ...globalOptions.version)
    .option(...globalOptions.url)
    .addOption(new Option(...globalOptions.output).argParser(outputFormat))
    .option(...globalOptions.json)
    .option(...globalOptions.columns, columnTitles)
    .option(...globalOptions.quiet)
    .option(...globalOptions.verbose)
    .option(...globalOptions.yes)
    .option(...globalOptions.noColor)
    .helpOption(...globalOptions.help)
    .helpCommand(false)
    .showSuggestionAfterError(true)
    .exitOverride()
  program.configureOutput(outputOf(program, machine))
  const standard = program.createHelp()
  return program.configureHelp({
    showGlobalOptions: true,
    // The help of a noun lists its verbs alone, so that it fits on one screen.
    visibleOptions: (command) => (isNoun(command) ? [] : standard.visibleOptions(command)),
    visibleGlobalOptions: (command) =>
      isNoun(command)
        ? []
        : standard.visibleGlobalOptions.call({ showGlobalOptions: true } as Help, command).filter(({ long }) => long !== '--version'),
    minWidthToWrap: minHelpColumns,
    // The description of a long term goes below it: beside it, a narrow terminal has no room.
    padWidth: (command, helper) => Math.min(standard.padWidth.call(helper, command, helper), Math.floor((helper.helpWidth ?? 80) / 2)),
    formatItem: (...[term, termWidth, description, helper]: Parameters<Help['formatItem']>) =>
      helper.displayWidth(term) <= termWidth
        ? standard.formatItem.call(helper, term, termWidth, description, helper)
        : `  ${term}\n${standard.formatItem.call(helper, '', termWidth, description, helper)}`,
    formatHelp: (command, helper) => {
      assertKnownVerb(command)
      return command.parent ? standard.formatHelp.call(helper, command, helper) : firstPage(tree, helpColumns(machine.stdout))
    },
  })
}

const isNoun = (command: Commander): boolean => command.parent !== null && command.commands.length > 0

function outputFormat(text: string): string {
  if (!['json', 'yaml', 'wide'].includes(text)) throw new InvalidArgumentError('Allowed choices are json, yaml, wide.')
  return text
}

/** `--columns box,last-report` */
const columnTitles = (text: string): string[] => text.split(',').map((title) => title.trim().replaceAll('-', ' ').toUpperCase())

/** Help for an unknown verb must not print the help of its noun. */
function assertKnownVerb(command: Commander): void {
  const [word] = command.args
  if (command.commands.length > 0 && word !== undefined && !word.startsWith('-')) command.error(`error: unknown command '${word}'`)
}

function addCommand(
  parent: Commander,
  command: Command,
  { before, action }: Readonly<{ before: string; action: (built: Commander, args: readonly unknown[]) => void }>,
): void {
  const built = parent.command(command.usage).description(command.summary)
  const alias = aliases[command.name]
  if (alias) built.alias(alias)
  if (parent.parent) built.helpGroup(groupOf(command))
  for (const spec of Object.values(command.options)) built.addOption(optionOf(spec))
  const { examples } = command
  if (examples) built.addHelpText('after', () => `\nExamples:\n${examples.map((line) => `  tenantry ${before}${line}`).join('\n')}`)
  built.action((...args: unknown[]) => action(built, args))
}

/** Names that people know from other programs, for the verbs of every noun. */
const aliases: Readonly<Record<string, string>> = { list: 'ls', remove: 'rm' }

/** Verbs that change nothing, listed first in the help of a noun. */
const readVerbs = new Set(
  'list show history plan rehearse diff watch follow check logs scan verify health audit read simulate export checkpoint public-key top tail sessions bash zsh fish names'.split(
    ' ',
  ),
)

const isRead = ({ reads, name }: Command): boolean => reads === true || readVerbs.has(name)

const groupOf = (command: Command): string =>
  isRead(command) ? 'Read:' : actionsOf(command.usage).some((action) => readVerbs.has(action)) ? 'Read and change:' : 'Change:'

/** `list` and `update` of `items <list|update>`. */
const actionsOf = (usage: string): string[] => usage.split(/[ <>[\]]/).flatMap((word) => (word.includes('|') ? word.split('|') : []))

/** Also `items list` of the command `items <list|update>`. */
const isReadNow = (command: Command, words: Readonly<Record<string, unknown>>): boolean =>
  isRead(command) || Object.entries(words).some(([name, word]) => name.includes('|') && readVerbs.has(String(word)))

/** One letter per meaning, for the options of every command. */
const shortFlags: Readonly<Record<string, string>> = { '--limit': '-n', '--tail': '-n', '--follow': '-f' }

const withShort = (flags: string): string => {
  const short = shortFlags[flags.split(' ')[0] as string]
  return short ? `${short}, ${flags}` : flags
}

function optionOf({ flags, summary, mandatory, hidden, choices, parse }: OptionSpec): Option {
  const option = new Option(withShort(flags), mandatory ? `${summary} (required)` : summary).makeOptionMandatory(mandatory)
  if (hidden) option.hideHelp()
  if (choices) option.choices([...choices])
  if (parse)
    option.argParser((text: string, before: unknown) => {
      try {
        return parse(text, before)
      } catch (error) {
        throw new InvalidArgumentError((error as Error).message)
      }
    })
  return option
}

function parsedOf(
  { noun, verb }: Names,
  command: Command,
  { built, args }: Readonly<{ built: Commander; args: readonly unknown[] }>,
): Parsed {
  const given = built.optsWithGlobals() as Globals
  const globals: Globals = { ...given, json: given.json === true || given.output === 'json' }
  const values = built.opts() as Record<string, unknown>
  const names = built.registeredArguments.map((argument) => argument.name())
  const words = Object.fromEntries(names.map((name, index) => [name, args[index]]))
  if (globals.columns && !isReadNow(command, words)) throw problem('USAGE', `--columns is for commands that read, not for ${command.name}`)
  const options = Object.entries(command.options).map(([name, spec]) => [name, values[optionOf(spec).attributeName()] ?? spec.fallback])
  const { tenant, user } = words
  const subject = tenant ? user && `${tenant} ${user}` : (words.slug ?? words.id ?? words.name ?? args[0])
  const has = (name: string) => noun?.verbs.some((other) => other.name === name) ?? false
  const { tenant: ofTenant } = command.options.tenant ? values : {}
  const typed: TypedCommand = {
    ...(noun ? { noun: noun.name, nounHasList: has('list'), nounHasShow: has('show') } : {}),
    ...(verb ? { verb: verb.name } : {}),
    ...(names.length > 0 && typeof subject === 'string' ? { subject } : {}),
    ...(typeof tenant === 'string' ? { tenant } : {}),
    ...(typeof ofTenant === 'string' ? { ofTenant } : {}),
    ...(command.asUser ? { asUser: true } : {}),
  }
  return { command, typed, globals, input: { ...words, ...Object.fromEntries(options) } }
}

const asksJson = (argv: readonly string[]): boolean => argv.includes('--json') || / (-o|--output)[ =]?json( |$)/.test(` ${argv.join(' ')}`)

const isCommanderError = (error: unknown): error is CommanderError => error instanceof Error && error.name === 'CommanderError'

/** Help and version exit 0 and are no failure; all else is a usage error. */
function throwUsage(error: CommanderError): undefined {
  if (error.exitCode === 0) return undefined
  throw problem('USAGE', usageErrorText(error))
}

/** Runs one command line and returns its exit code; never throws. Results go to stdout, all else to stderr. */
export async function runCommandLine(
  { tree, version }: Readonly<{ tree: Tree; version: string }>,
  argv: readonly string[],
  machine: Machine,
): Promise<ExitCode> {
  let parsed: Parsed | undefined
  try {
    parsed = parseCommandLine({ tree, version }, standardForm(argv), machine)
    return parsed ? await (await import('./run.ts')).runParsed(parsed, machine) : 0
  } catch (error) {
    const typed = parsed?.typed ?? typedWords(tree, standardForm(argv))
    const globals = parsed?.globals ?? { json: asksJson(argv), color: !argv.includes('--no-color') }
    return (await import('./failure.ts')).reportFailure(machine, error, { typed, globals })
  }
}

/** `help boxes list` is `boxes list --help`. */
function standardForm(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv
  return first === 'help' ? [...rest, '--help'] : argv
}

/** The noun and verb of a line that does not parse, to point to their help. */
function typedWords(tree: Tree, argv: readonly string[]): TypedCommand {
  const words = argv.filter((word) => !word.startsWith('-'))
  const noun = tree.nouns.find(({ name }) => name === words[0])
  const typed = words[noun ? 1 : 0]
  const verb = (noun?.verbs ?? tree.alone).find(({ name }) => name === typed || (typed !== undefined && aliases[name] === typed))
  return { ...(noun ? { noun: noun.name } : {}), ...(verb ? { verb: verb.name } : {}) }
}
