import { type ASTNode, Environment } from '@marcbachmann/cel-js'
import { expressionFault, type Readable, word } from './expression-faults.ts'
import { refusedCallIn } from './expression-functions.ts'
import { misfitIn, textOfDateIn } from './expression-literals.ts'
import { riskIn, unknownGuardIn, usesIn } from './expression-uses.ts'
import { type VariableType, variableFault } from './variables.ts'

// Conditions are CEL over `vars`, the variables of the run: `vars.people > 10`, `has(vars.note) && vars.note != ''`.

/**
 * `unguarded`: the variables that an expression reads without a guard by `has()`. `risk`: why it fails for some values. `error` and `risk` are
 * texts for the person who wrote it; with an error the rest is empty.
 */
type Compiled = Readonly<{ error: string | null; unguarded: ReadonlySet<string>; risk: string | undefined }>

const celTypes: Readonly<Record<VariableType, string>> = {
  text: 'string',
  date: 'string',
  number: 'double',
  boolean: 'bool',
  file: 'string',
  signature: 'string',
}

export const expressionLimits = { maxAstNodes: 300, maxDepth: 30, maxListElements: 100, maxMapEntries: 20, maxCallArguments: 8 }

type Types = ReadonlyMap<string, VariableType>

const noGuard = 'calls has() of something that is no variable. fix: write has(vars.<name>)'

/** Type checks expressions of one board; one checker serves all of them. `nonZero`: its variables that are never 0. */
export function expressionChecker(types: Types, nonZero: ReadonlySet<string> = new Set()): (expression: string) => Compiled {
  const environment = environmentOf(types)
  const readable = { root: 'vars', known: [...types.keys()] }
  return (expression) => {
    const nothing = { unguarded: new Set<string>(), risk: undefined }
    const read = parseBoolean(environment, expression, readable)
    if (read.error !== null) return { ...nothing, error: read.error }
    const { unguarded, hasWhole } = usesIn(read.ast)
    const whole = hasWhole ? 'uses vars without a name; write vars.<name>' : undefined
    const unknown = unknownGuardIn(read.ast, types)
    const neverTrue = unknown === undefined ? undefined : unknown === '' ? noGuard : expressionFault(`No such key: ${unknown}`, readable)
    const refused = refusedCallIn(read.ast) ?? whole ?? neverTrue ?? misfitIn(read.ast, { expression, environment, types })
    if (refused !== undefined) return { ...nothing, error: refused }
    return { unguarded, risk: riskIn(read.ast, { expression, types, nonZero }) ?? textOfDateIn(read.ast, types), error: null }
  }
}

/** Parses and type checks an expression. `error`: why it is not true or false. */
export function parseBoolean(
  environment: Environment,
  expression: string,
  readable: Readable,
): Readonly<{ error: string } | { error: null; ast: ASTNode }> {
  const fault = (message: string) => expressionFault(message.split('\n', 1)[0] as string, readable)
  try {
    const parsed = environment.parse(expression)
    const { valid, type, error } = parsed.check()
    if (!valid) return { error: fault(error?.message ?? 'it cannot be read') }
    return type === 'bool' ? { error: null, ast: parsed.ast } : { error: `gives ${word(type ?? 'nothing')}, not true or false` }
  } catch (error) {
    return { error: fault((error as Error).message) }
  }
}

/** As in CEL, but a number equals a whole number too: people write `vars.people == 10`. */
function environmentOf(types: Types): Environment {
  const refused = variableFault(types)
  if (refused !== undefined) throw new Error(refused)
  return new Environment({ limits: expressionLimits, unlistedVariablesAreDyn: false })
    .registerOperator('double == int', (left: number, right: bigint) => left === Number(right))
    .registerVariable({ name: 'vars', schema: Object.fromEntries([...types].map(([name, type]) => [name, celTypes[type]])) })
}

export type Variables = Readonly<Record<string, string | number | boolean>>

/** The value of a condition for `readable` variables. Throws an error with a readable message where it has none: it is never false then. */
export function evaluate(expression: string, types: Types, variables: Variables): boolean {
  const value: unknown = parsed(expression, types)({ vars: variables })
  if (typeof value !== 'boolean') throw new Error(`gives ${typeof value}, not true or false`)
  return value
}

/** The variables that conditions of these types can read. */
export const readable = (types: Types, variables: Variables): Variables =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => types.has(name)))

type Parsed = ReturnType<Environment['parse']>
type Conditions = Readonly<{ environment: Environment; parsed: Map<string, Parsed> }>

/** Characters of parsed conditions of all boards: each takes up to 75 bytes of memory. */
const maxParsedCharacters = 1_000_000

let conditions = new WeakMap<Types, Conditions>()
let parsedCharacters = 0

/** Conditions of one board share an environment: it has all variables of the board. */
function parsed(expression: string, types: Types): Parsed {
  const known = conditions.get(types) ?? { environment: environmentOf(types), parsed: new Map<string, Parsed>() }
  const found = known.parsed.get(expression)
  if (found) return found
  const parsed = parseAllowed(known.environment, expression)
  if (parsedCharacters > maxParsedCharacters) {
    known.parsed.clear()
    conditions = new WeakMap()
    parsedCharacters = 0
  }
  parsedCharacters += expression.length
  conditions.set(types, known)
  known.parsed.set(expression, parsed)
  return parsed
}

/** Throws an error with a readable message for a function that expressions may not call. */
export function parseAllowed(environment: Environment, expression: string): ReturnType<Environment['parse']> {
  const parsed = environment.parse(expression)
  const refused = refusedCallIn(parsed.ast)
  if (refused !== undefined) throw new Error(refused)
  return parsed
}
