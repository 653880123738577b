import { type Document, isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'
import { canonicalJson, problem } from '../../core/kit/index.ts'

// Edits of YAML files that people wrote: comments and order stay, what is not touched keeps its words. Only the layout of lines may change,
// and only in a file in which something changes.

export type Editable = Readonly<{ document: Document; root: YAMLMap; plain: Record<string, unknown> }>

/** One document with a map in it. Throws COMPOSE_INVALID with the file's name. */
export function editable(name: string, text: string): Editable {
  const document = parseDocument(text, { merge: true })
  const [error] = document.errors
  if (error) throw problem('COMPOSE_INVALID', `${name} is not YAML: ${error.message.split('\n')[0]}`)
  if (!isMap(document.contents)) throw problem('COMPOSE_INVALID', `${name} is not a map`)
  const plain = document.toJS({ maxAliasCount: 200 }) as Record<string, unknown>
  return { document, root: document.contents as YAMLMap, plain }
}

/** The file with its edits; byte for byte the former one where they changed nothing. */
export function printed({ document }: Editable, former: string, changed: boolean): string {
  if (!changed) return former
  const indentSeq = !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(former)
  const count = (form: RegExp) => former.match(form)?.length ?? 0
  return document.toString({ lineWidth: 0, indentSeq, flowCollectionPadding: count(/[[{] \S/g) >= count(/[[{][\w"']/g) })
}

/** Gives a key of a map another value; a word that is exchanged for another keeps its comment. */
export function setValue(document: Document, map: YAMLMap, key: string, value: unknown): void {
  const now = map.get(key, true)
  if (isScalar(now) && typeof value === 'string' && !now.anchor && !/^BLOCK/.test(now.type ?? '')) now.value = value
  else map.set(key, document.createNode(value))
}

export const same = (a: unknown, b: unknown): boolean => canonicalJson(a ?? null) === canonicalJson(b ?? null)

/** A map that the file itself holds; one that comes through an alias belongs to others too. */
export function ownMap(name: string, parent: YAMLMap, key: string): YAMLMap {
  const value = parent.get(key, true)
  if (isMap(value)) return value
  throw problem('COMPOSE_INVALID', `${name} takes ${key} from an alias or a merge: write it out, then look again`)
}
