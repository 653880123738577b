import { type Document, isAlias, isCollection, isMap, isScalar, isSeq, type Pair, parseDocument, stringify, type YAMLMap } from 'yaml'
import { canonicalJson, type Problem, problem } from '../../core/kit/index.ts'

// Edits of manually written YAML. Each edit replaces or inserts a piece of text, so all other bytes stay: comments, spacing, quotes, line ends and
// byte order mark. Each result is parsed and compared with what the edit should make of the values; nothing else can change.

/** A YAML file by the name that messages show. */
export type YamlText = Readonly<{ name: string; text: string }>

type Path = readonly (string | number)[]

/** The file as plain values, anchors and merges resolved. Throws COMPOSE_INVALID unless it is a map. */
export const valuesOf = ({ name, text }: YamlText): Record<string, unknown> => parsed(name, text).plain

function parsed(name: string, text: string): Readonly<{ document: Document; root: YAMLMap; plain: Record<string, unknown> }> {
  const document = parseDocument(text, { merge: true })
  const [error] = document.errors
  if (error) throw problem('COMPOSE_INVALID', `${name} is not YAML: ${error.message.split('\n')[0]}`)
  if (!isMap(document.contents)) throw problem('COMPOSE_INVALID', `${name} is not a map`)
  return { document, root: document.contents as YAMLMap, plain: document.toJS({ maxAliasCount: 200 }) as Record<string, unknown> }
}

/** Sets a key of a map that the file has itself; a replaced string keeps its quotes and its comment. Throws COMPOSE_INVALID. */
export function setValue(file: YamlText, path: Path, value: unknown): YamlText {
  const map = ownMap(file, path.slice(0, -1))
  const key = String(path.at(-1))
  const pair = pairOf(map, key)
  return checked(file, { path, value, edit: pair ? replacePair(file, map, { pair, value }) : insertPair(file, map, { key, value }) })
}

/** Appends to a list; makes a missing list. Throws COMPOSE_INVALID. */
export function appendValue(file: YamlText, path: Path, value: unknown): YamlText {
  const list = pairOf(ownMap(file, path.slice(0, -1)), String(path.at(-1)))?.value
  const present = valueAt(valuesOf(file), path)
  if (present === undefined || present === null) return setValue(file, path, [value])
  if (!isSeq(list)) throw shared(file, path)
  return checked(file, { path: [...path, (present as unknown[]).length], value, edit: insertItem(file, list, value) })
}

/** Removes a key of a map, or sets it to an empty list where other text of its line or a merge must stay. Throws COMPOSE_INVALID. */
export function removeList(file: YamlText, path: Path): YamlText {
  const map = ownMap(file, path.slice(0, -1))
  const pair = pairOf(map, String(path.at(-1)))
  const { text } = file
  const begin = pair ? text.lastIndexOf('\n', startOf(pair) - 1) + 1 : 0
  if (!pair || map.flow || pairOf(map, '<<') || text.slice(begin, startOf(pair)).trim() !== '') return setValue(file, path, [])
  const newline = text.indexOf('\n', endOf(text, pair))
  return checked(file, { path, value: undefined, edit: { start: begin, end: newline < 0 ? text.length : newline + 1, put: '' } })
}

type Edit = Readonly<{ start: number; end: number; put: string }>

function checked({ name, text }: YamlText, { path, value, edit }: Readonly<{ path: Path; value: unknown; edit: Edit }>): YamlText {
  const result = { name, text: text.slice(0, edit.start) + edit.put + text.slice(edit.end) }
  // A copy without shared objects: an anchor that is used elsewhere too must not change there.
  const requested = JSON.parse(JSON.stringify(valuesOf({ name, text }))) as Record<string, unknown>
  const parent = valueAt(requested, path.slice(0, -1)) as Record<string | number, unknown>
  if (value === undefined) delete parent[path.at(-1) as string]
  else parent[path.at(-1) as string] = value
  if (!isSame(requested, result)) throw shared({ name, text }, path)
  return result
}

function isSame(requested: unknown, result: YamlText): boolean {
  try {
    return canonicalJson(JSON.parse(JSON.stringify(valuesOf(result)))) === canonicalJson(requested)
  } catch {
    return false
  }
}

const shared = ({ name }: YamlText, path: Path): Problem =>
  problem(
    'COMPOSE_INVALID',
    `${name} cannot be edited at ${path.join('.')}: it uses an anchor, a merge or an unusual form there. fix: write it out`,
  )

const valueAt = (whole: unknown, path: Path): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<string | number, unknown> | undefined)?.[key], whole)

/** The map at a path; one from an alias is shared with other places. Throws COMPOSE_INVALID. */
export function ownMap(file: YamlText, path: Path): YAMLMap {
  const node = path.reduce<unknown>(
    (at, key) => (isMap(at) ? pairOf(at, String(key))?.value : isSeq(at) ? at.items[Number(key)] : undefined),
    parsed(file.name, file.text).root,
  )
  if (isMap(node)) return node
  if (valueAt(valuesOf(file), path) === undefined)
    throw problem('COMPOSE_INVALID', `${file.name} has no ${path.at(-1)}. fix: add it, then show the diff again`)
  throw problem(
    'COMPOSE_INVALID',
    `${file.name} takes ${path.at(-1)} from an alias or a merge. fix: write it out, then show the diff again`,
  )
}

const pairOf = (map: YAMLMap, key: string): Pair | undefined =>
  map.items.find((pair) => String(isScalar(pair.key) ? pair.key.value : pair.key) === key)

type Ranged = Readonly<{ range?: readonly [number, number, number] | null }>

const startOf = ({ key }: Pair): number => (key as Ranged).range?.[0] ?? 0

/** End of the last character of a pair or a value, before a comment on its line. */
function endOf(text: string, node: unknown): number {
  if (isCollection(node) && !node.flow && node.items.length > 0) return endOf(text, node.items.at(-1))
  if (isScalar(node) || isAlias(node) || isCollection(node)) return withoutBreaks(text, (node as Ranged).range?.[1] ?? 0)
  const { key, value } = node as Pair
  if (hasText(value)) return endOf(text, value)
  const keyEnd = (key as Ranged).range?.[1] ?? 0
  return text.indexOf(':', keyEnd) + 1 || keyEnd
}

/** `key:` has an empty value. */
const hasText = (value: unknown): boolean => {
  const [start, end] = (value as Ranged | null)?.range ?? [0, 0]
  return end > start
}

const withoutBreaks = (text: string, end: number): number => (/[\r\n]/.test(text.charAt(end - 1)) ? withoutBreaks(text, end - 1) : end)

/** End of the line, before its line end. */
function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at < 0 ? text.length : withoutBreaks(text, at + 1)
}

const mark = '\uFEFF'

/** Spaces before the character at `start`; a byte order mark takes no room. */
function indentAt(text: string, start: number): string {
  const begin = text.lastIndexOf('\n', start - 1) + 1
  return ' '.repeat(start - begin - (begin === 0 && text.startsWith(mark) ? 1 : 0))
}

/** YAML of a value in block style, its lines after the first indented. */
function blockText(text: string, value: unknown, indent: string): string {
  const indentSeq = !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text)
  const lines = stringify(value, { lineWidth: 0, indentSeq }).trimEnd().split('\n')
  return lines.join(`${text.includes('\r\n') ? '\r\n' : '\n'}${indent}`)
}

/** In flow style plain text ends at many characters, so other strings are quoted. */
const flowText = (value: unknown): string =>
  typeof value === 'string' && /^[A-Za-z][\w./-]*$/.test(value) && stringify(value).trimEnd() === value ? value : JSON.stringify(value)

function replacePair({ text }: YamlText, map: YAMLMap, { pair, value }: Readonly<{ pair: Pair; value: unknown }>): Edit {
  const key = String(isScalar(pair.key) ? pair.key.value : pair.key)
  const { value: now } = pair
  if (isScalar(now) && hasText(now) && !/^BLOCK/.test(now.type ?? '') && typeof value !== 'object') {
    const [start, end] = now.range ?? [0, 0]
    const quote = /^["']/.exec(text.slice(start, end))?.[0]
    const canQuote = quote !== undefined && typeof value === 'string' && !/["'\\\n]/.test(value)
    return { start, end, put: canQuote ? `${quote}${value}${quote}` : map.flow ? flowText(value) : stringify(value).trimEnd() }
  }
  const start = startOf(pair)
  const put = map.flow ? `${flowText(key)}: ${flowText(value)}` : blockText(text, { [key]: value }, indentAt(text, start))
  return { start, end: endOf(text, pair), put }
}

function insertPair({ text }: YamlText, map: YAMLMap, { key, value }: Readonly<{ key: string; value: unknown }>): Edit {
  const last = map.items.at(-1)
  const [begin] = (map as Ranged).range ?? [0]
  if (!last) return insertAt(begin + 1, ` ${flowText(key)}: ${flowText(value)} `)
  if (map.flow) return insertAt(endOf(text, last), `${hasText(last.value) ? '' : ' '}, ${flowText(key)}: ${flowText(value)}`)
  const indent = indentAt(text, startOf(map.items[0] as Pair))
  return insertLine(text, { after: endOf(text, last), indent }, blockText(text, { [key]: value }, indent))
}

function insertItem({ text }: YamlText, list: Readonly<{ items: readonly unknown[]; flow?: boolean }> & Ranged, value: unknown): Edit {
  const last = list.items.at(-1)
  const [begin] = list.range ?? [0]
  if (last === undefined) return insertAt(begin + 1, flowText(value))
  if (list.flow) return insertAt(endOf(text, last), `, ${flowText(value)}`)
  const indent = indentAt(text, begin)
  return insertLine(text, { after: endOf(text, last), indent }, blockText(text, [value], indent))
}

const insertAt = (start: number, put: string): Edit => ({ start, end: start, put })

const insertLine = (text: string, { after, indent }: Readonly<{ after: number; indent: string }>, line: string): Edit =>
  insertAt(lineEnd(text, after), `${text.includes('\r\n') ? '\r\n' : '\n'}${indent}${line}`)
