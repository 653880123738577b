/** The names on the first page of help. */
export type Names = Readonly<{
  nouns: readonly Readonly<{ name: string; verbs: readonly Readonly<{ name: string }>[] }>[]
  alone: readonly Readonly<{ name: string; summary: string }>[]
}>

export const about = 'Moves fleets of stateful tenant boxes to new versions without losing a message'

/** Options of every command: flags as commander reads them, and help text. */
export const globalOptions = {
  version: ['-v, --version', 'show the version'],
  url: ['--url <address>', 'daemon address (default: TENANTRY_URL, then the last login)'],
  output: ['-o, --output <format>', 'json, yaml or wide (all columns, not cut)'],
  json: ['--json', 'print the API response as JSON (same as -o json)'],
  columns: ['--columns <titles>', 'only these columns of a table, comma-separated'],
  quiet: ['-q, --quiet', 'names only in tables; no progress'],
  verbose: ['--verbose', 'every detail of a view'],
  yes: ['-y, --yes', 'skip confirmation prompts'],
  noColor: ['--no-color', 'disable colours (also: NO_COLOR)'],
  help: ['-h, --help', 'show help'],
} as const

/** True for a bare `--help`, which is answered before any other module is loaded. */
export const asksFirstPage = (words: readonly string[]): boolean => words.length === 1 && (words[0] === '--help' || words[0] === '-h')

/** The columns of a terminal: help is as wide as it, at most 120. A pipe gets whole lines. */
export const helpColumns = ({ isTTY, columns }: Readonly<{ isTTY?: boolean | undefined; columns?: number | undefined }>): number =>
  isTTY ? Math.min(columns || 80, 120) : Number.POSITIVE_INFINITY

/** The first page of help: every noun with its verbs. */
export const firstPage = ({ nouns, alone }: Names, columns: number): string =>
  [
    about,
    '',
    'Usage: tenantry <noun> <verb> [options]',
    '',
    ...block(
      'Nouns and verbs',
      nouns.map(({ name, verbs }) => [name, verbs.map((verb) => verb.name).join(' | ')]),
      columns,
    ),
    ...block(
      'Commands',
      alone.map(({ name, summary }) => [name, summary]),
      columns,
    ),
    ...block('Options', Object.values(globalOptions), columns),
    'tenantry help <noun>         list the verbs of a noun',
    'tenantry help <noun> <verb>  show the options of a command',
    '',
  ].join('\n')

function block(title: string, pairs: readonly (readonly [string, string])[], columns: number): string[] {
  const left = Math.max(...pairs.map(([name]) => name.length))
  const beside = ([name, text]: readonly [string, string]) =>
    wrapped(text, columns - left - 4).map((line, nth) => `  ${(nth === 0 ? name : '').padEnd(left)}  ${line}`)
  return [`${title}:`, ...pairs.flatMap(beside), '']
}

/** Broken at spaces, but not before the bar after a verb. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/ (?!\|)/)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
