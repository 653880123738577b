import type { ASTNode } from '@marcbachmann/cel-js'
import { isNode } from './expression-functions.ts'
import type { VariableType } from './variables.ts'

/** `vars.people` names `people`. */
export const variableIn = ({ op, args }: ASTNode): string | undefined =>
  op === '.' && args[0].op === 'id' && args[0].args === 'vars' ? args[1] : undefined

/** `all`: the condition never has the value. */
type Needed = ReadonlySet<string> | 'all'

const none: Needed = new Set()
const either = (a: Needed, b: Needed): Needed => (a === 'all' || b === 'all' ? 'all' : new Set([...a, ...b]))
const both = (a: Needed, b: Needed): Needed => (a === 'all' ? b : b === 'all' ? a : new Set([...a].filter((one) => b.has(one))))

type NeededFor = Readonly<{ true: Needed; false: Needed }>

/**
 * The variables without which a condition is certainly not true, and not false: it is the opposite then, whatever fails in the rest of it. Both
 * at once, since a nested ?: asks for both of each condition.
 */
function neededFor(node: ASTNode): NeededFor {
  const { op, args } = node
  if (op === 'value') return { true: args === false ? 'all' : none, false: args === true ? 'all' : none }
  if (op === 'call' && args[0] === 'has') return { true: new Set(args[1].flatMap((one) => variableIn(one) ?? [])), false: none }
  if (op === '!_') return opposite(neededFor(args))
  if (op === '==' || op === '!=') {
    const [literal, other] = args[0].op === 'value' ? args : [args[1], args[0]]
    if (literal.op !== 'value' || typeof literal.args !== 'boolean') return { true: none, false: none }
    return literal.args === (op === '==') ? neededFor(other) : opposite(neededFor(other))
  }
  if (op === '?:') {
    const [condition, first, second] = args.map(neededFor) as [NeededFor, NeededFor, NeededFor]
    const of = (value: 'true' | 'false') => both(either(condition.true, first[value]), either(condition.false, second[value]))
    return { true: of('true'), false: of('false') }
  }
  if (op !== '&&' && op !== '||') return { true: none, false: none }
  const [left, right] = [neededFor(args[0]), neededFor(args[1])]
  const isAnd = op === '&&'
  return { true: (isAnd ? either : both)(left.true, right.true), false: (isAnd ? both : either)(left.false, right.false) }
}

const opposite = (needed: NeededFor): NeededFor => ({ true: needed.false, false: needed.true })

type Uses = Readonly<{ unguarded: ReadonlySet<string>; hasWhole: boolean }>

/**
 * The variables whose missing value fails an expression. `has(vars.a) && …` guards `a`, since one false side of && decides; so do
 * `!has(vars.a) || …` and `has(vars.a) ? … : …`. `hasWhole`: it reads `vars` without a name.
 */
export function usesIn(root: ASTNode): Uses {
  const unguarded = new Set<string>()
  let hasWhole = false
  const visit = (node: unknown, guarded: Needed): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, guarded)
    if (!isNode(node)) return
    const { op, args } = node
    const variable = variableIn(node)
    if (variable !== undefined) {
      if (guarded !== 'all' && !guarded.has(variable)) unguarded.add(variable)
      return
    }
    if (op === 'id' && args === 'vars') hasWhole = true
    if (op === 'call' && args[0] === 'has') return
    if (op === '&&' || op === '||') {
      const [left, right] = args
      const decided = op === '&&' ? 'true' : 'false'
      visit(left, either(guarded, neededFor(right)[decided]))
      visit(right, either(guarded, neededFor(left)[decided]))
      return
    }
    if (op === '?:') {
      const [condition, first, second] = args
      visit(condition, guarded)
      const needed = neededFor(condition)
      visit(first, either(guarded, needed.true))
      visit(second, either(guarded, needed.false))
      return
    }
    visit(args, guarded)
  }
  visit(root, none)
  return { unguarded, hasWhole }
}

/** The parts of a part. */
export const childrenOf = ({ args }: ASTNode): ASTNode[] => [args].flat(3).filter(isNode)

/** The first part that fits, from the outside. */
export function findNode(node: ASTNode, fits: (one: ASTNode) => boolean): ASTNode | undefined {
  if (fits(node)) return node
  for (const one of childrenOf(node)) {
    const found = findNode(one, fits)
    if (found) return found
  }
  return undefined
}

type Types = ReadonlyMap<string, VariableType>

/** Functions that read a text, and fail for one that is not of their form. */
const conversions = ['int', 'uint', 'double', 'bool', 'timestamp'] as const

const calls = (name: string) => (node: ASTNode) => (node.op === 'call' || node.op === 'rcall') && node.args[0] === name

/** The name in a `has()` of no variable, which is false for ever: empty if it names none as `vars.<name>`. */
export function unknownGuardIn(root: ASTNode, types: Types): string | undefined {
  const guardedBy = (node: ASTNode) => (node.op === 'call' && node.args[0] === 'has' ? variableOf(node.args[1][0]) : undefined)
  const found = findNode(root, (node) => {
    const name = guardedBy(node)
    return name !== undefined && !types.has(name)
  })
  return found && guardedBy(found)
}

const variableOf = (node: ASTNode | undefined): string => (node && variableIn(node)) ?? ''

/** `nonZero`: the variables that are never 0. */
export type Risky = Readonly<{ expression: string; types: Types; nonZero: ReadonlySet<string> }>

/** A part of an expression that has no usable value for some value of a user, and what to do. */
export function riskIn(root: ASTNode, risky: Risky): string | undefined {
  const call = riskyCallIn(root, risky.types)
  if (call !== undefined)
    return `calls ${call}(), which fails the run for a text that does not fit. fix: check its size() first, or use a form field of another kind`
  const found = riskyDivisorIn(root, risky)
  if (!found) return undefined
  const { divisor, isWhole } = found
  return `divides by ${divisor}, which ${isWhole ? 'fails the run' : 'gives Infinity'} if it is 0. fix: write ${divisor} != 0 && …`
}

/** One beside a call of `size` counts as guarded; a date always has the same form. */
function riskyCallIn(root: ASTNode, types: Types): string | undefined {
  const isText = (node: ASTNode) => types.get(variableOf(node)) === 'text'
  if (findNode(root, calls('size'))) return undefined
  if (findNode(root, calls('substring'))) return 'substring'
  return conversions.find((name) =>
    findNode(root, (node) => calls(name)(node) && childrenOf(node).some((one) => findNode(one, isText) !== undefined)),
  )
}

const comparisons: readonly string[] = ['==', '!=', '<', '<=', '>', '>=']

/** The divisor that may be 0. One that the expression compares counts as guarded. */
function riskyDivisorIn(root: ASTNode, { expression, types, nonZero }: Risky) {
  const textOf = ({ start, end }: ASTNode) => expression.slice(start, end)
  const divisorOf = ({ op, args }: ASTNode): ASTNode | undefined => (op === '/' || op === '%' ? args[1] : undefined)
  const isCompared = (divisor: ASTNode) =>
    findNode(root, (node) => comparisons.includes(node.op) && childrenOf(node).some((one) => textOf(one) === textOf(divisor))) !== undefined
  const found = findNode(root, (node) => {
    const divisor = divisorOf(node)
    return divisor !== undefined && mayBeZero(divisor, nonZero) && !isCompared(divisor)
  })
  const divisor = found && divisorOf(found)
  return divisor && { divisor: textOf(divisor), isWhole: !isFraction(divisor, types) }
}

function mayBeZero(divisor: ASTNode, nonZero: ReadonlySet<string>): boolean {
  const bare = divisor.op === '-_' ? divisor.args : divisor
  const variable = variableIn(bare)
  if (variable !== undefined) return !nonZero.has(variable)
  const value = numberOf(divisor)
  return value === undefined ? divisor.op !== 'value' : Number(value) === 0
}

const arithmetic = ['+', '-', '*', '/'] as const
type Arithmetic = Extract<ASTNode, { op: (typeof arithmetic)[number] }>
const isArithmetic = (node: ASTNode): node is Arithmetic => (arithmetic as readonly string[]).includes(node.op)

/** Number variables are fractions, and no expression calculates with both kinds. */
function isFraction(node: ASTNode, types: Types): boolean {
  if (node.op === 'value') return typeof node.args === 'number'
  if (node.op === '-_') return isFraction(node.args, types)
  if (isArithmetic(node)) return node.args.some((one) => isFraction(one, types))
  return calls('double')(node) || types.get(variableOf(node)) === 'number'
}

/** The value of a calculation with the numbers that the expression names, all whole or all fractions. */
function numberOf(node: ASTNode): bigint | number | undefined {
  if (node.op === 'value') return typeof node.args === 'bigint' || typeof node.args === 'number' ? node.args : undefined
  if (node.op === '-_') {
    const value = numberOf(node.args)
    return value === undefined ? undefined : -value
  }
  if (!isArithmetic(node)) return undefined
  const [a, b] = [numberOf(node.args[0]), numberOf(node.args[1])]
  if (typeof a === 'bigint' && typeof b === 'bigint') return node.op === '/' && b === 0n ? undefined : calculate(node.op, a, b)
  return typeof a === 'number' && typeof b === 'number' ? calculate(node.op, a, b) : undefined
}

function calculate<N extends bigint | number>(op: Arithmetic['op'], a: N, b: N): N {
  const [x, y] = [a as number, b as number]
  return (op === '/' ? x / y : op === '+' ? x + y : op === '-' ? x - y : x * y) as N
}
