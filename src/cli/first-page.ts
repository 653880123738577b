/** What a name on the first page is, as far as the page shows it. */
export type Names = Readonly<{
  nouns: readonly Readonly<{ name: string; verbs: readonly Readonly<{ name: string }>[] }>[]
  alone: readonly Readonly<{ name: string; summary: string }>[]
}>

export const about = 'Moves fleets of stateful tenant boxes to new versions without losing a message'

/** Options that every command takes, as commander reads them, each with what help says of it. */
export const globalOptions = {
  version: ['-V, --version', 'show the version'],
  url: ['--url <address>', "the daemon's address (TENANTRY_URL; else the last login's)"],
  json: ['--json', "print the API's result as it is"],
  yes: ['--yes', 'do not ask for confirmation'],
  noColor: ['--no-color', 'no colours (NO_COLOR does the same)'],
  help: ['-h, --help', 'show help'],
} as const

/** Nothing but help was asked for: it is answered before anything is loaded, this file and the names aside. */
export const asksFirstPage = (words: readonly string[]): boolean => words.length === 1 && (words[0] === '--help' || words[0] === '-h')

/** The first page of help: every noun with its verbs, so that nobody has to search. */
export const firstPage = ({ nouns, alone }: Names): string =>
  [
    about,
    '',
    'Usage: tenantry <noun> <verb> [options]',
    '',
    ...block(
      'Nouns and verbs',
      nouns.map(({ name, verbs }) => [name, verbs.map((verb) => verb.name).join(' | ')]),
    ),
    ...block(
      'Alone',
      alone.map(({ name, summary }) => [name, summary]),
    ),
    ...block('Options', Object.values(globalOptions)),
    'tenantry <noun> --help lists what a noun can do,',
    'tenantry <noun> <verb> --help shows its options.',
    '',
  ].join('\n')

function block(title: string, pairs: readonly (readonly [string, string])[]): string[] {
  const left = Math.max(...pairs.map(([name]) => name.length))
  return [`${title}:`, ...pairs.map(([name, what]) => `  ${name.padEnd(left)}  ${what}`), '']
}
