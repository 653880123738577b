import type { ExitCode } from '../../core/kit/index.ts'
import type { Context } from './context.ts'
import type { Look } from './look.ts'
import type { OptionSpecs, OptionValues } from './options.ts'

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
  onlyNamed?: true
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
  view: (result: never, look: Look, input: never) => string
}> &
  Extras<never, never>

/** Declares a command: how it is typed, what it does, how its result looks. Nothing heavy is imported before `run`. */
export function command<const Usage extends string, const Specs extends OptionSpecs, Result>(
  usage: Usage,
  summary: string,
  options: Specs,
  run: (context: Context, input: ArgumentsOf<Usage> & OptionValues<Specs>) => Promise<Result>,
  view: (result: Result, look: Look, input: ArgumentsOf<Usage> & OptionValues<Specs>) => string,
  extras: Extras<ArgumentsOf<Usage> & OptionValues<Specs>, Result> = {},
): Command {
  return { usage, name: usage.split(' ')[0] as string, summary, options, run, view, ...extras }
}

/** A command of which only the first page of help is asked: nobody can run it. */
export const named = (name: string, summary: string): Command => ({
  ...{ usage: name, name, summary, options: {}, onlyNamed: true },
  run: async () => undefined,
  view: () => '',
})

/** A noun with its verbs, or a command that stands alone. */
export type Noun = Readonly<{ name: string; summary: string; verbs: readonly Command[] }>

export const noun = (name: string, summary: string, verbs: readonly Command[]): Noun => ({ name, summary, verbs })

export type Tree = Readonly<{ nouns: readonly Noun[]; alone: readonly Command[] }>
