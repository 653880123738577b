/** The variables that an expression may read, as `vars.people`. `known`: their names, where they are fixed. */
export type Readable = Readonly<{ root: string; known: readonly string[] | undefined }>

const celWords: Readonly<Record<string, string>> = {
  string: 'a text',
  double: 'a number',
  int: 'a whole number',
  uint: 'a whole number',
  bool: 'true or false',
}

/** A type in words. */
export const word = (type: string): string => celWords[type] ?? type

const maxNamed = 10

const named = (known: readonly string[]): string =>
  known.length === 0 ? 'none is set' : known.length > maxNamed ? `${known.slice(0, maxNamed).join(', ')} and others` : known.join(', ')

type Fault = readonly [RegExp, (match: readonly string[], readable: Readable) => string]

/** The faults that people make most, by the words of the parser. */
const faults: readonly Fault[] = [
  [
    /^No such key: (\S+)/,
    ([, name], { root, known = [] }) => `reads ${root}.${name}, which no form and no start variable sets (known: ${named(known)})`,
  ],
  [
    /^Unknown variable: (\S+)/,
    ([, name = ''], { root, known }) =>
      known === undefined || known.includes(name)
        ? `reads ${name}. fix: write ${root}.${name}`
        : `reads ${name}, which does not exist. fix: write ${root}.<name> (known: ${named(known)})`,
  ],
  [/^no such overload: (\S+) (\S+) (\S+)$/, ([, left = '', sign, right = '']) => `uses ${sign} with ${word(left)} and ${word(right)}`],
  [/^found no matching overload for '(.*)'$/, ([, call]) => `calls ${call}, which does not exist`],
  [/^Exceeded max\w+ \((\d+)\)/, ([, most]) => `is too long or too deep (limit ${most}). fix: use two decisions, or a shorter expression`],
  [/^Unterminated string/, () => 'has a text without its closing quote'],
  [/^Unexpected character: =/, () => 'has a single =. fix: write == to compare'],
  [/^Unexpected token: EOF/, () => 'ends too early'],
  [/^Unexpected (?:token|character): (.*)/, ([, what]) => `has ${what} where it is not expected`],
]

/** What is wrong with an expression, in words that follow it, for a message of the parser. */
export function expressionFault(message: string, readable: Readable): string {
  for (const [pattern, say] of faults) {
    const match = pattern.exec(message)
    if (match) return say(match, readable)
  }
  return `is not valid: ${message}`
}
