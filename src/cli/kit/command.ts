import type { ExitCode } from '../../core/kit/index.ts'
import type { Context } from './context.ts'
import type { Style } from './style.ts'

type ArgumentOf<Word> = Word extends `<${infer Name}...>`
  ? { readonly [Key in Name]: readonly string[] }
  : Word extends `<${infer Name}>`
    ? { readonly [Key in Name]: string }
    : Word extends `[${infer Name}...]`
      ? { readonly [Key in Name]?: readonly string[] }
      : Word extends `[${infer Name}]`
        ? { readonly [Key in Name]?: string }
        : unknown
/** `show <id>` asks for `{ id: string }`, `adopt [folder]` for `{ folder?: string }`. */
type ArgumentsOf<Usage> = Usage extends `${infer Word} ${infer Rest}` ? ArgumentOf<Word> & ArgumentsOf<Rest> : ArgumentOf<Usage>

type Extras<Input, Result> = Readonly<{
  /** The exit code of a result that is no failure of the command but not good news either. */
  exit?: (result: Result, input: Input) => ExitCode
  /** Needs no daemon: no address is looked at. */
  local?: true
  /** Stands only for its name: its room is not loaded. */
  nameOnly?: true
  /** Lines of help below the options, each a command that can be typed as it stands. */
  examples?: readonly string[]
}>

/** A command as the frame sees it. `run` does it, `view` shows what came back; `--json` prints that as it is. */
export type Command = Readonly<{
  usage: string
  name: string
  summary: string
  options: OptionSpecs
  run: (context: Context, input: never) => Promise<unknown>
  view: (result: never, style: Style, input: never) => string
}> &
  Extras<never, never>

/** Declares a command: how it is typed, what it does, how its result looks. Nothing heavy is imported before `run`. */
export function command<const Usage extends string, const Specs extends OptionSpecs, Result>(
  usage: Usage,
  summary: string,
  options: Specs,
  run: (context: Context, input: ArgumentsOf<Usage> & OptionValues<Specs>) => Promise<Result>,
  view: (result: Result, style: Style, input: ArgumentsOf<Usage> & OptionValues<Specs>) => string,
  extras: Extras<ArgumentsOf<Usage> & OptionValues<Specs>, Result> = {},
): Command {
  return { usage, name: usage.split(' ')[0] as string, summary, options, run, view, ...extras }
}

/** A command of which only the first page of help is asked: nobody can run it. */
export const nameOnly = (name: string, summary: string): Command => ({
  ...{ usage: name, name, summary, options: {}, nameOnly: true },
  run: async () => undefined,
  view: () => '',
})

/** A noun with its verbs, or a command that stands alone. */
export type Noun = Readonly<{ name: string; summary: string; verbs: readonly Command[] }>

export const noun = (name: string, summary: string, verbs: readonly Command[]): Noun => ({ name, summary, verbs })

export type Tree = Readonly<{ nouns: readonly Noun[]; alone: readonly Command[] }>

/** What one option of a command is: its flags as commander reads them, and how its text becomes a value. */
export type OptionSpec<Value = unknown> = Readonly<{
  flags: string
  summary: string
  mandatory: boolean
  /** Values that are taken; all are when absent. */
  choices?: readonly string[]
  /** Turns the text after the flag into the value; throws a sentence. `before` is the value so far, for options that repeat. */
  parse?: (text: string, before: unknown) => unknown
  /** What it is when it is not given. */
  fallback?: unknown
  /** Carries the type only. */
  readonly value?: Value
}>

type OptionSpecs = Readonly<Record<string, OptionSpec>>

/** The values of declared options, by the names they were declared under. */
type OptionValues<Specs extends OptionSpecs> = { readonly [Name in keyof Specs]: NonNullableValue<Specs[Name]> }
type NonNullableValue<Spec> = Spec extends OptionSpec<infer Value> ? Value : never

/** `--reason <text>` */
export const text = (flags: string, summary: string): OptionSpec<string | undefined> => ({ flags, summary, mandatory: false })

/** A switch: `--start`, or `--no-wait`, which is true until it is given. */
export const flag = (flags: string, summary: string): OptionSpec<boolean> => ({
  flags,
  summary,
  mandatory: false,
  fallback: flags.includes('--no-'),
})

/** A whole number of at least `least`. */
export const count = (flags: string, summary: string, least = 1): OptionSpec<number | undefined> => ({
  flags,
  summary,
  mandatory: false,
  parse: (given) => {
    const value = Number(given)
    if (!Number.isInteger(value) || value < least) throw new Error(`must be a whole number of at least ${least}`)
    return value
  },
})

/** A share of all: `0.02` is one in fifty. */
export const share = (flags: string, summary: string): OptionSpec<number | undefined> => ({
  flags,
  summary,
  mandatory: false,
  parse: (given) => {
    const value = Number(given)
    if (given.trim() === '' || !(value >= 0 && value <= 1)) throw new Error('must be a number from 0 to 1, such as 0.02')
    return value
  },
})

/** One of a few words. */
export const oneOf = <const Choice extends string>(
  flags: string,
  summary: string,
  choices: readonly Choice[],
): OptionSpec<Choice | undefined> => ({ flags, summary, mandatory: false, choices })

/** May be given several times, and each time as a list with commas. */
export const many = (flags: string, summary: string): OptionSpec<readonly string[]> => ({
  flags,
  summary,
  mandatory: false,
  fallback: [],
  parse: (given, before) => [
    ...((before as string[] | undefined) ?? []),
    ...given
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  ],
})

/** The same option, which must be given. */
export const required = <Value>(spec: OptionSpec<Value>): OptionSpec<Exclude<Value, undefined>> => ({ ...spec, mandatory: true }) as never
