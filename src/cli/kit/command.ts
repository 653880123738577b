import { type ExitCode, periodMs } from '../../core/kit/index.ts'
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
  /** The exit code for a result; 0 without it. */
  exit?: (result: Result, input: Input) => ExitCode
  /** Runs without a daemon: no address is resolved. */
  local?: true
  /** Acts as a user of a tenant, not as an operator. */
  asUser?: true
  /** Changes nothing, so that it takes `--columns` and help lists it below "Read". Verbs such as `list` need no such mark. */
  reads?: true
  /** Has a name only: its feature is not loaded. */
  nameOnly?: true
  /** Complete commands, shown in help below the options. */
  examples?: readonly string[]
}>

/** `run` calls the API, `view` renders its result; `--json` prints the result as JSON instead. */
export type Command = Readonly<{
  usage: string
  name: string
  summary: string
  options: OptionSpecs
  run: (context: Context, input: never) => Promise<unknown>
  view: (result: never, style: Style, input: never) => string
}> &
  Extras<never, never>

type Parts<Input, Specs, Result> = Readonly<{
  options?: Specs
  run: (context: Context, input: Input) => Promise<Result>
  view: (result: Result, style: Style, input: Input) => string
}> &
  Extras<Input, Result>

/** Declares a command. Heavy modules are imported inside `run` only, so that help stays instant. */
export const command = <const Usage extends string, Result, const Specs extends OptionSpecs = Record<never, never>>(
  usage: Usage,
  summary: string,
  parts: Parts<ArgumentsOf<Usage> & OptionValues<Specs>, Specs, Result>,
): Command => ({ options: {}, ...parts, usage, name: usage.split(' ')[0] as string, summary })

/** A command for the first page of help; it cannot run. */
export const nameOnly = (name: string, summary: string): Command => ({
  ...{ usage: name, name, summary, options: {}, nameOnly: true },
  run: async () => undefined,
  view: () => '',
})

/** A noun with its verbs. */
export type Noun = Readonly<{ name: string; summary: string; verbs: readonly Command[] }>

export const noun = (name: string, summary: string, verbs: readonly Command[]): Noun => ({ name, summary, verbs })

export type Tree = Readonly<{ nouns: readonly Noun[]; alone: readonly Command[] }>

/** An option: its flags as commander reads them, and how its text becomes a value. */
export type OptionSpec<Value = unknown> = Readonly<{
  flags: string
  summary: string
  mandatory: boolean
  /** A former name, not in help. */
  hidden?: true
  /** Accepted values; any value when absent. */
  choices?: readonly string[]
  /** Turns the text after the flag into the value, or throws the reason. `before` is the previous value of a repeated option. */
  parse?: (text: string, before: unknown) => unknown
  /** The value of an absent option. */
  fallback?: unknown
  /** Carries the type; never set. */
  readonly value?: Value
}>

type OptionSpecs = Readonly<Record<string, OptionSpec>>

/** The values of declared options, by the names they were declared under. */
type OptionValues<Specs extends OptionSpecs> = { readonly [Name in keyof Specs]: NonNullableValue<Specs[Name]> }
type NonNullableValue<Spec> = Spec extends OptionSpec<infer Value> ? Value : never

/** `--reason <text>` */
export const text = (flags: string, summary: string): OptionSpec<string | undefined> => ({ flags, summary, mandatory: false })

/** A switch: `--start` is false and `--no-wait` true when absent. */
export const flag = (flags: string, summary: string): OptionSpec<boolean> => ({
  flags,
  summary,
  mandatory: false,
  fallback: flags.includes('--no-'),
})

/** An integer of at least `min`. */
export const count = (flags: string, summary: string, min = 1): OptionSpec<number | undefined> => ({
  flags,
  summary,
  mandatory: false,
  parse: (input) => {
    const value = Number(input)
    if (!Number.isInteger(value) || value < min) throw new Error(`must be an integer of at least ${min}`)
    return value
  },
})

/** A fraction from 0 to 1. */
export const share = (flags: string, summary: string): OptionSpec<number | undefined> => ({
  flags,
  summary,
  mandatory: false,
  parse: (input) => {
    const value = Number(input)
    if (input.trim() === '' || !(value >= 0 && value <= 1)) throw new Error('must be a number from 0 to 1, such as 0.02')
    return value
  },
})

/** A duration such as `90s`, `30m`, `2h` or `1d`, in milliseconds. */
export const period = (flags: string, summary: string): OptionSpec<number | undefined> => ({
  flags,
  summary,
  mandatory: false,
  parse: (input) => {
    const ms = periodMs(input)
    if (ms === undefined) throw new Error('must be a duration, such as 90s, 30m, 2h or 1d')
    return ms
  },
})

/** One of the listed words. */
export const oneOf = <const Choice extends string>(
  flags: string,
  summary: string,
  choices: readonly Choice[],
): OptionSpec<Choice | undefined> => ({ flags, summary, mandatory: false, choices })

/** Repeatable, and each time a comma-separated list. */
export const many = (flags: string, summary: string): OptionSpec<readonly string[]> => ({
  flags,
  summary,
  mandatory: false,
  fallback: [],
  parse: (input, before) => [
    ...((before as string[] | undefined) ?? []),
    ...input
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  ],
})

/** Leaves an option out of help. */
export const hidden = <Value>(spec: OptionSpec<Value>): OptionSpec<Value> => ({ ...spec, hidden: true })

/** Makes an option mandatory. */
export const required = <Value>(spec: OptionSpec<Value>): OptionSpec<Exclude<Value, undefined>> => ({ ...spec, mandatory: true }) as never
