import type { ASTNode, Environment } from '@marcbachmann/cel-js'
import { z } from 'zod'
import { isNode } from './expression-functions.ts'
import { childrenOf, findNode, variableIn } from './expression-uses.ts'
import type { VariableType } from './variables.ts'

// Literals of an expression that no value can fit: a call that always fails, and a date that is compared with a text of another form. The parts
// of an expression without variables are evaluated; a date variable has the form of the sample, whatever its value is.

type Types = ReadonlyMap<string, VariableType>
type Read = Readonly<{ expression: string; environment: Environment; types?: Types }>

const sampleDate = '2026-11-27'
const noTypes: Types = new Map()

const textOf = ({ start, end }: ASTNode, expression: string): string => expression.slice(start, end)

/** Why a literal can never fit; undefined if all do. */
export const misfitIn = (root: ASTNode, read: Read): string | undefined =>
  failingCallIn(root, read) ?? misfitOfDateIn(root, read.types ?? noTypes)

const examples: Readonly<Record<string, string>> = { timestamp: "timestamp('2026-11-27T08:00:00Z')", duration: "duration('1h30m')" }

/** A call without variables, or with dates alone, that has a value for no date. The innermost one. */
function failingCallIn(node: unknown, read: Read): string | undefined {
  if (!isNode(node)) return undefined
  const inside = childrenOf(node).map((one) => failingCallIn(one, read))
  const first = inside.find((one) => one !== undefined)
  if (first !== undefined || (node.op !== 'call' && node.op !== 'rcall')) return first
  const dates = fixedBut(node, read.types ?? noTypes)
  if (dates === undefined || hasValue(node, dates, read)) return undefined
  const [name] = node.args
  const why = `calls ${textOf(node, read.expression)}, which fails ${dates.length === 0 ? 'always' : 'for every date'}`
  if (name === 'timestamp' && dates.length === 1) return `${why}. fix: write timestamp(vars.${dates[0]} + 'T00:00:00Z')`
  return `${why}. fix: ${Object.hasOwn(examples, name) ? `write it as ${examples[name]}` : 'write a value that fits'}`
}

/** The date variables of a part that reads no other ones; undefined if it does. */
function fixedBut(node: ASTNode, types: Types): string[] | undefined {
  const variable = variableIn(node)
  if (variable !== undefined) return types.get(variable) === 'date' ? [variable] : undefined
  if (node.op === 'id') return undefined
  const inside = childrenOf(node).map((one) => fixedBut(one, types))
  return inside.some((one) => one === undefined) ? undefined : [...new Set(inside.flatMap((one) => one ?? []))]
}

/** As RFC 3339 has it: the library also reads `Nov 27 2026 10:00:00`, and makes 2 March of 30 February. */
const Time = z.iso.datetime({ offset: true })

function hasValue(node: ASTNode, dates: readonly string[], { expression, environment }: Read): boolean {
  const vars = Object.fromEntries(dates.map((name) => [name, sampleDate]))
  const evaluated = (one: ASTNode): unknown => environment.parse(textOf(one, expression))({ vars })
  try {
    evaluated(node)
    const time = node.op === 'call' && node.args[0] === 'timestamp' ? evaluated(node.args[1][0] as ASTNode) : undefined
    return typeof time !== 'string' || Time.safeParse(time).success
  } catch {
    return false
  }
}

const comparisons: readonly string[] = ['==', '!=', '<', '<=', '>', '>=', 'in']
const searches: Readonly<Record<string, (form: string, part: string) => boolean>> = {
  startsWith: (form, part) => form.startsWith(part),
  endsWith: (form, part) => form.endsWith(part),
  contains: (form, part) => form.includes(part),
  indexOf: (form, part) => form.includes(part),
  lastIndexOf: (form, part) => form.includes(part),
}

const isoDate = z.iso.date()
const fix = `fix: write dates as '${sampleDate}'`

/** A date that is compared with a literal of another form: the comparison has a result, and never the one that was meant. */
function misfitOfDateIn(root: ASTNode, types: Types): string | undefined {
  for (const { date, literal, search } of comparedDates(root, types)) {
    const fits = search ? search(sampleDate.replaceAll(/\d/g, '0'), literal.replaceAll(/\d/g, '0')) : isoDate.safeParse(literal).success
    if (!fits && literal !== '') return `compares the date vars.${date} with '${literal}', which is no date of a form. ${fix}`
  }
  return undefined
}

/** A text variable that is compared with a date: it has any form. */
export function textOfDateIn(root: ASTNode, types: Types): string | undefined {
  const isText = (node: ASTNode) => types.get(variableIn(node) ?? '') === 'text'
  const found = findNode(root, (node) => {
    if (!comparisons.includes(node.op)) return false
    const sides = childrenOf(node)
    return sides.some((one) => dateIn(one, types) !== undefined) && sides.some((one) => findNode(one, isText) !== undefined)
  })
  if (!found) return undefined
  const [date, text] = [
    dateIn(found, types) ??
      childrenOf(found)
        .map((one) => dateIn(one, types))
        .find((one) => one),
    findNode(found, isText),
  ]
  return `compares the date vars.${date} with the text vars.${text && variableIn(text)}, which may have any form. fix: use a date field`
}

type Compared = Readonly<{ date: string; literal: string; search?: ((form: string, part: string) => boolean) | undefined }>

function* comparedDates(node: unknown, types: Types): Generator<Compared> {
  if (!isNode(node)) return
  for (const one of childrenOf(node)) yield* comparedDates(one, types)
  if (node.op === 'rcall') {
    const [name, of, [part]] = node.args
    const date = dateIn(of, types)
    const search = Object.hasOwn(searches, name) ? searches[name] : undefined
    if (date !== undefined && search && part) for (const literal of literalsIn(part)) yield { date, literal, search }
  }
  if (!comparisons.includes(node.op)) return
  const [left, right] = childrenOf(node)
  for (const [one, other] of [
    [left, right],
    [right, left],
  ]) {
    const date = one && dateIn(one, types)
    if (date !== undefined && other) for (const literal of literalsIn(other)) yield { date, literal }
  }
}

/** The date variable whose text a part has: itself, its conversion, one of two values, a list with it. */
function dateIn(node: ASTNode, types: Types): string | undefined {
  const variable = variableIn(node)
  if (variable !== undefined) return types.get(variable) === 'date' ? variable : undefined
  return valuesOf(node)
    .map((one) => dateIn(one, types))
    .find((one) => one !== undefined)
}

const literalsIn = (node: ASTNode): string[] =>
  node.op === 'value' ? (typeof node.args === 'string' ? [node.args] : []) : valuesOf(node).flatMap(literalsIn)

function valuesOf(node: ASTNode): ASTNode[] {
  if (node.op === '?:') return childrenOf(node).slice(1)
  if (node.op === 'list') return childrenOf(node)
  return node.op === 'call' && (node.args[0] === 'string' || node.args[0] === 'dyn') ? node.args[1] : []
}
