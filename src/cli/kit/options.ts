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

export type OptionSpecs = Readonly<Record<string, OptionSpec>>

/** The values of declared options, by the names they were declared under. */
export type OptionValues<Specs extends OptionSpecs> = { readonly [Name in keyof Specs]: NonNullableValue<Specs[Name]> }
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
export const list = (flags: string, summary: string): OptionSpec<readonly string[]> => ({
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
