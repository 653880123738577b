import type { ASTNode } from '@marcbachmann/cel-js'

// An evaluation cannot be stopped, so expressions may call only functions whose time and result grow with their text and no faster. Regular
// expressions, loops, `bind` and conversions of bytes are left out; so are time zones, which are read slowly at each call.

const functions: ReadonlySet<string> = new Set([
  ...['has', 'size', 'string', 'int', 'uint', 'double', 'bool', 'dyn', 'type', 'timestamp', 'duration'],
  ...['contains', 'indexOf', 'lastIndexOf', 'startsWith', 'endsWith', 'lowerAscii', 'upperAscii', 'trim', 'substring'],
])

const partOfTime = /^get(FullYear|Month|Date|DayOfMonth|DayOfWeek|DayOfYear|Hours|Minutes|Seconds|Milliseconds)$/

/** Characters of the fixed text that these need: a search takes the product of both lengths, a duration without a unit the cube of its length. */
const fixedTexts: Readonly<Record<string, number>> = { contains: 100, indexOf: 100, lastIndexOf: 100, duration: 30 }

/** Why an expression is refused for a function that it calls. Published boards may be older than a rule, so evaluations ask too. */
export function refusedCallIn(node: unknown): string | undefined {
  if (Array.isArray(node)) return node.map(refusedCallIn).find((one) => one !== undefined)
  if (!isNode(node)) return undefined
  const { op, args } = node
  if (op === 'call') return refusedCall(args[0], args[1]) ?? refusedCallIn(args[1])
  if (op === 'rcall') return refusedCall(args[0], args[2]) ?? refusedCallIn([args[1], ...args[2]])
  return refusedCallIn(args)
}

function refusedCall(name: string, [first]: readonly ASTNode[]): string | undefined {
  if (partOfTime.test(name))
    return first === undefined ? undefined : `calls ${name}() with a time zone, which is not supported; times are UTC`
  if (!functions.has(name)) return `uses ${name}(), which is not supported`
  const max = Object.hasOwn(fixedTexts, name) ? (fixedTexts[name] as number) : undefined
  if (max === undefined) return undefined
  const text = first?.op === 'value' ? first.args : undefined
  return typeof text === 'string' && text.length <= max ? undefined : `needs a fixed text of at most ${max} characters in ${name}()`
}

export const isNode = (node: unknown): node is ASTNode => typeof node === 'object' && node !== null && 'op' in node
