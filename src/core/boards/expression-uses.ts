import type { ASTNode } from '@marcbachmann/cel-js'
import { isNode } from './expression-functions.ts'
import type { VariableType } from './variables.ts'

/** `vars.people` names `people`. */
const variableIn = ({ op, args }: ASTNode): string | undefined =>
  op === '.' && args[0].op === 'id' && args[0].args === 'vars' ? args[1] : undefined

const none: ReadonlySet<string> = new Set()
const either = (a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> => new Set([...a, ...b])
const both = (a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> => new Set([...a].filter((one) => b.has(one)))

/** The variables without which a condition is certainly not `value`: it is the opposite then, whatever fails in the rest of it. */
function neededFor(value: boolean, node: ASTNode): ReadonlySet<string> {
  const { op, args } = node
  if (op === 'call' && args[0] === 'has') return value ? new Set(args[1].flatMap((one) => variableIn(one) ?? [])) : none
  if (op === '!_') return neededFor(!value, args)
  if (op !== '&&' && op !== '||') return none
  const [left, right] = [neededFor(value, args[0]), neededFor(value, args[1])]
  return (op === '&&') === value ? either(left, right) : both(left, right)
}

type Uses = Readonly<{ unguarded: ReadonlySet<string>; hasWhole: boolean }>

/**
 * The variables whose missing value fails an expression. `has(vars.a) && …` guards `a`, since one false side of && decides; so do
 * `!has(vars.a) || …` and `has(vars.a) ? … : …`. `hasWhole`: it reads `vars` without a name.
 */
export function usesIn(root: ASTNode): Uses {
  const unguarded = new Set<string>()
  let hasWhole = false
  const visit = (node: unknown, guarded: ReadonlySet<string>): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, guarded)
    if (!isNode(node)) return
    const { op, args } = node
    const variable = variableIn(node)
    if (variable !== undefined) {
      if (!guarded.has(variable)) unguarded.add(variable)
      return
    }
    if (op === 'id' && args === 'vars') hasWhole = true
    if (op === 'call' && args[0] === 'has') return
    if (op === '&&' || op === '||') {
      const [left, right] = args
      visit(left, either(guarded, neededFor(op === '&&', right)))
      visit(right, either(guarded, neededFor(op === '&&', left)))
      return
    }
    if (op === '?:') {
      const [condition, first, second] = args
      visit(condition, guarded)
      visit(first, either(guarded, neededFor(true, condition)))
      visit(second, either(guarded, neededFor(false, condition)))
      return
    }
    visit(args, guarded)
  }
  visit(root, none)
  return { unguarded, hasWhole }
}

function find(node: unknown, fits: (one: ASTNode) => boolean): ASTNode | undefined {
  if (Array.isArray(node)) return node.map((one) => find(one, fits)).find((one) => one !== undefined)
  if (!isNode(node)) return undefined
  return fits(node) ? node : find(node.args, fits)
}

type Types = ReadonlyMap<string, VariableType>

/** Functions that read a text, and fail for one that is not of their form. */
const conversions = ['int', 'uint', 'double', 'bool', 'timestamp'] as const

const calls = (name: string) => (node: ASTNode) => (node.op === 'call' || node.op === 'rcall') && node.args[0] === name

/** A conversion that fails for every date: `2026-11-27` alone is neither a time nor a number. */
export function refusedDateIn(root: ASTNode, types: Types): string | undefined {
  for (const name of conversions) {
    const isOfDate = (node: ASTNode) => calls(name)(node) && node.op === 'call' && types.get(variableOf(node.args[1][0])) === 'date'
    const found = find(root, isOfDate)
    if (found?.op !== 'call') continue
    const variable = variableOf(found.args[1][0])
    return `calls ${name}(vars.${variable}), which fails for every date. fix: write timestamp(vars.${variable} + 'T00:00:00Z')`
  }
  return undefined
}

const variableOf = (node: ASTNode | undefined): string => (node && variableIn(node)) ?? ''

/** A part of an expression that fails the run for some value of a user, and what to do. */
export function riskIn(root: ASTNode, expression: string, types: Types): string | undefined {
  const call = riskyCallIn(root, types)
  if (call !== undefined)
    return `calls ${call}(), which fails the run for a text that does not fit. fix: check its size() first, or use a form field of another kind`
  const divisor = riskyDivisorIn(root, expression)
  return divisor && `divides by ${divisor}, which fails the run if it is 0. fix: write ${divisor} != 0 && …`
}

/** One beside a call of `size` counts as guarded; a date always has the same form. */
function riskyCallIn(root: ASTNode, types: Types): string | undefined {
  const isText = (node: ASTNode) => types.get(variableOf(node)) === 'text'
  if (find(root, calls('size'))) return undefined
  if (find(root, calls('substring'))) return 'substring'
  return conversions.find((name) => find(root, (node) => calls(name)(node) && find(node.args, isText) !== undefined))
}

const comparisons: readonly string[] = ['==', '!=', '<', '<=', '>', '>=']

/** The divisor of whole numbers that may be 0. One that the expression compares counts as guarded. */
function riskyDivisorIn(root: ASTNode, expression: string): string | undefined {
  const textOf = ({ start, end }: ASTNode) => expression.slice(start, end)
  const divisorOf = ({ op, args }: ASTNode): ASTNode | undefined => (op === '/' || op === '%' ? args[1] : undefined)
  const isCompared = (divisor: ASTNode) =>
    find(
      root,
      ({ op, args }) => comparisons.includes(op) && Array.isArray(args) && args.some((one) => textOf(one as ASTNode) === textOf(divisor)),
    )
  const found = find(root, (node) => {
    const divisor = divisorOf(node)
    return divisor !== undefined && mayBeZero(divisor) && !isCompared(divisor)
  })
  const divisor = found && divisorOf(found)
  return divisor && textOf(divisor)
}

/** Whole numbers alone: a division of others by 0 has a value. */
function mayBeZero(divisor: ASTNode): boolean {
  const { op, args } = divisor
  if (op === 'value') return args === 0n
  return variableIn(divisor) === undefined && find(divisor, calls('double')) === undefined
}
