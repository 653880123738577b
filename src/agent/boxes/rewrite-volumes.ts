import { Document, isMap, isScalar, type Pair, type YAMLMap } from 'yaml'
import { canonicalJson } from '../../core/kit/index.ts'
import { composeInvalid, parseCompose, resolvedCompose } from './compose-file.ts'
import { recordOf } from './mounts.ts'
import { apply, type Edit, pairOf } from './rewrite-compose.ts'

/** New real names of volumes by their keys in the file. */
type Names = Readonly<Record<string, string>>
type Plain = Readonly<Record<string, unknown>>

/**
 * Sets the real names of volumes; nothing else changes. Plain definitions are edited in place. Where that would change more or less (anchors,
 * merges, keys without a value), the section `volumes` is written out, with everything resolved. Throws COMPOSE_INVALID.
 */
export function rewriteVolumes(text: string, names: Names): string {
  const requested = withNames(resolvedCompose(text), names)
  for (const edit of [editedInPlace, writtenOut]) {
    const result = ifExactly(requested, () => edit(text, names, requested))
    if (result !== undefined) return result
  }
  throw composeInvalid('defines its volumes in a form that cannot be changed. fix: write each volume out')
}

function withNames(whole: Plain, names: Names): Plain {
  const volumes = recordOf(whole.volumes)
  const renamed = Object.entries(names).map(([key, name]) => {
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) throw composeInvalid(`cannot use the volume name ${name}`)
    if (!Object.hasOwn(volumes, key)) throw composeInvalid(`has no volume ${key}`)
    if (recordOf(volumes[key]).external) throw composeInvalid(`has an external volume ${key}`)
    return [key, { ...recordOf(volumes[key]), name }]
  })
  return { ...whole, volumes: { ...volumes, ...Object.fromEntries(renamed) } }
}

/** The result of an edit if it resolves to exactly this. */
function ifExactly(requested: Plain, edit: () => string | undefined): string | undefined {
  try {
    const text = edit()
    return text !== undefined && canonicalJson(resolvedCompose(text)) === canonicalJson(requested) ? text : undefined
  } catch {
    return undefined
  }
}

const sectionOf = (text: string): Pair | undefined => pairOf(parseCompose(text).contents as YAMLMap, 'volumes')

function editedInPlace(text: string, names: Names): string | undefined {
  const volumes = sectionOf(text)?.value
  if (!isMap(volumes)) return undefined
  const edits = Object.entries(names).map(([key, name]) => named(text, pairOf(volumes, key)?.value, name))
  return edits.every((edit) => edit !== undefined) ? apply(text, edits) : undefined
}

/** The edit that names one volume; undefined for a definition without a place of its own. */
function named(text: string, volume: unknown, name: string): Edit | undefined {
  if (isMap(volume)) return namedMap(text, volume, name)
  if (!isScalar(volume) || volume.value !== null || !volume.range) return undefined
  // `db:`, `db: ~` and `db: null` all define a volume with defaults.
  const [start, end] = volume.range
  const before = /[\s]/.test(text[start - 1] ?? '') ? '' : ' '
  const after = text[end] === '#' ? ' ' : ''
  return { start, end, text: `${before}{ name: ${name} }${after}` }
}

function namedMap(text: string, volume: YAMLMap, name: string): Edit | undefined {
  const present = pairOf(volume, 'name')
  const value = present?.value
  if (isScalar(value) && value.range && !value.type?.startsWith('BLOCK')) {
    const [start, end] = value.range
    const quote = /^["']/.exec(text.slice(start, end))?.[0] ?? ''
    return { start, end, text: `${quote}${name}${quote}` }
  }
  if (present || !volume.range) return undefined
  const [start] = volume.range
  if (volume.flow) return { start: start + 1, end: start + 1, text: volume.items.length > 0 ? ` name: ${name},` : ` name: ${name} ` }
  const indent = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  return { start, end: start, text: `name: ${name}${lineEndOf(text)}${indent}` }
}

const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

function writtenOut(text: string, _: Names, { volumes }: Plain): string | undefined {
  const [start, end] = rangeOf(sectionOf(text))
  if (start === undefined || end === undefined) return undefined
  const isFlow = text.slice(0, start).trimEnd().endsWith('{') || text.slice(0, start).trimEnd().endsWith(',')
  const section = new Document({ volumes }).toString({ collectionStyle: isFlow ? 'flow' : 'block', lineWidth: 0 })
  const put = isFlow ? section.trim().slice(1, -1).trim() : section.replaceAll('\n', lineEndOf(text))
  return `${text.slice(0, start)}${put}${text.slice(end)}`
}

/** From the start of a key to the end of its value. */
function rangeOf(pair: Pair | undefined): [number | undefined, number | undefined] {
  const at = (node: unknown, index: 0 | 1) => (node as { range?: [number, number, number] } | null | undefined)?.range?.[index]
  return [at(pair?.key, 0), at(pair?.value, 1)]
}

/** The line of a volume in the file, counted from 1; undefined where it has no key of its own. */
export function lineOfVolume(text: string, key: string): number | undefined {
  const volumes = sectionOf(text)?.value
  const [start] = isMap(volumes) ? rangeOf(pairOf(volumes, key)) : []
  return start === undefined ? undefined : text.slice(0, start).split('\n').length
}
