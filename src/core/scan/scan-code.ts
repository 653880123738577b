import { type ParserOptions, parse } from '@babel/parser'
import type { Node } from '@babel/types'
import { constantText, mayBeText } from './constant-text.ts'
import { isDeclared, type Placed } from './declared-names.ts'
import { type Finding, finding, type Rule } from './findings.ts'
import { hasJoiner } from './hidden-characters.ts'
import { importFault, importsOf } from './imports.ts'

const globalNames = new Set(
  (
    'eval Function process globalThis global window self module exports WebAssembly Worker SharedWorker SharedArrayBuffer Atomics ' +
    'Deno Bun importScripts fetch XMLHttpRequest WebSocket EventSource'
  ).split(' '),
)
const timers = new Set('setTimeout setInterval setImmediate queueMicrotask'.split(' '))
/** Names of the inside of Node.js: as a property, a key of a pattern or a text. */
const insides = new Set(
  (
    'getBuiltinModule createRequire dlopen _load _linkedBinding mainModule child_process node:child_process worker_threads ' +
    'node:worker_threads spawn_sync process_wrap'
  ).split(' '),
)

const plugins = (file: string): NonNullable<ParserOptions['plugins']> => {
  if (/\.d\.[mc]?ts$/.test(file)) return [['typescript', { dts: true }]]
  if (/\.[mc]?ts$/.test(file)) return ['typescript']
  if (file.endsWith('.tsx')) return ['typescript', 'jsx']
  return file.endsWith('.jsx') ? ['jsx'] : []
}

/** All findings of one file of code, or undefined if it is not code. */
export function scanCode(file: string, text: string): readonly Finding[] | SyntaxError {
  let program: Node
  try {
    const sourceType = file.endsWith('.cjs') ? 'script' : 'module'
    program = parse(text, {
      sourceType,
      plugins: plugins(file),
      createImportExpressions: true,
      attachComment: false,
      tokens: false,
    }).program
  } catch (error) {
    return error as SyntaxError
  }
  const found: Finding[] = []
  const add = (rule: Rule, node: Node, name?: string) => {
    const { line, column } = node.loc?.start ?? { line: 1, column: 0 }
    found.push(finding(rule, file, { detail: name, line, column: column + 1 }))
  }
  walk(program, (place) => {
    const { node } = place
    for (const source of importsOf(node)) {
      const fault = importFault(file, source)
      if (fault) add(fault.rule, source, fault.name)
    }
    checkNode(place, (rule, name) => add(rule, node, name))
  })
  return inOrder(found)
}

/** By place, each once. */
function inOrder(found: readonly Finding[]): readonly Finding[] {
  const places = new Map(found.map((one) => [`${one.rule} ${one.line}:${one.column}`, one]))
  return [...places.values()].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
}

type Report = (rule: Rule, name?: string) => void

function checkNode(place: Placed, report: Report): void {
  const { node } = place
  if (node.type === 'Identifier') checkIdentifier(place, node.name, report)
  else if (node.type === 'MetaProperty' && node.meta.name === 'import') report('import-meta')
  else if (node.type === 'WithStatement') report('with-statement')
  else if (mayBeText(node) && place.key !== 'source' && !isKeyOfDefinition(place)) {
    const text = constantText(node)
    if (text === 'constructor') report('constructor-access')
    else if (text !== undefined && insides.has(text)) report('dangerous-name', text)
  }
}

function checkIdentifier(place: Placed, name: string, report: Report): void {
  if (hasJoiner(name)) report('hidden-characters', 'joiner in a name')
  if (isKeyOfDefinition(place) || isType(place)) return
  if (isPropertyName(place)) {
    if (name === 'constructor') report('constructor-access')
    else if (insides.has(name)) report('dangerous-name', name)
    return
  }
  const isEval = name === 'eval'
  if (name === 'require' && !isDeclared(name, place)) report('require')
  else if (globalNames.has(name) && (isEval || !isDeclared(name, place))) report('global-name', name)
  else if (timers.has(name) && !isDeclared(name, place)) report('timer', name)
}

/** The name of a method, of a member of a class, or of a property of an object that is written here: it gives access to nothing. */
function isKeyOfDefinition({ node, parent, key }: Placed): boolean {
  if (key === 'label') return true
  if (key !== 'key' || !parent || isComputed(parent.node)) return false
  return parent.node.type !== 'ObjectProperty' || parent.parent?.node.type !== 'ObjectPattern' || node.type === 'NumericLiteral'
}

/** `x.name`, `{ name: … }` of a pattern, `import { name }`, `export { x as name }`. */
function isPropertyName({ parent, key }: Placed): boolean {
  if (!parent) return false
  const { type } = parent.node
  if (key === 'property' && /MemberExpression$/.test(type)) return !isComputed(parent.node)
  if (key === 'key') return !isComputed(parent.node)
  return (key === 'imported' && type === 'ImportSpecifier') || (key === 'exported' && /^Export/.test(type))
}

const isComputed = (node: Node): boolean => 'computed' in node && node.computed === true

/** TypeScript names that no code is made of. */
const isType = ({ parent }: Placed): boolean =>
  /^TS(?:TypeReference|TypeQuery|QualifiedName|Interface|Enum|Property|Method|TypeParameter)/.test(parent?.node.type ?? '')

const skipped = new Set(['type', 'loc', 'start', 'end', 'extra', 'range', 'leadingComments', 'trailingComments', 'innerComments', 'errors'])

/** Every node, without recursion: a file may be nested as deep as the parser allows. */
function walk(root: Node, visit: (place: Placed) => void): void {
  const left: Placed[] = [{ node: root, parent: null, key: '' }]
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    visit(place)
    const node = place.node as unknown as Readonly<Record<string, unknown>>
    for (const key in node) {
      if (skipped.has(key)) continue
      const value = node[key]
      if (Array.isArray(value)) {
        for (const one of value) if (isNode(one)) left.push({ node: one, parent: place, key })
      } else if (isNode(value)) left.push({ node: value, parent: place, key })
    }
  }
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value
