import { isAlias, isMap, isScalar, isSeq, type Pair, type Scalar, visit, type YAMLMap } from 'yaml'
import { ImageRef, type Service } from '../../core/boxes/index.ts'
import { composeInvalid, parseCompose } from './compose-file.ts'
import { remembered } from './remembered.ts'

/** Replaces the text from `start` to `end`. */
export type Edit = Readonly<{ start: number; end: number; text: string }>

/** Replaces the images of services; all other bytes stay. Throws COMPOSE_INVALID where that is impossible. */
export const rewriteImages = (text: string, images: Readonly<Partial<Record<Service, string>>>): string =>
  withImages(text, JSON.stringify(images))

const maxTexts = 32

const withImages = remembered(maxTexts, (text: string, wanted: string): string => {
  const images = JSON.parse(wanted) as Record<string, string>
  const document = parseCompose(text)
  const edits = Object.entries(images).map(([service, image]) => {
    if (!ImageRef.safeParse(image).success) throw composeInvalid(`cannot use ${image} for ${service}: not a literal image with a tag`)
    const at = document.getIn(['services', service], true)
    if (!isMap(at)) throw composeInvalid(at === undefined ? `has no service ${service}` : `defines the service ${service} through an alias`)
    return replaceScalar(document, text, ownScalar(at, 'image', `the image of ${service}`), image, `the image of ${service}`)
  })
  return apply(text, edits)
})

export const pairOf = (map: YAMLMap, key: string): Pair | undefined =>
  map.items.find((pair) => (isScalar(pair.key) ? pair.key.value : pair.key) === key)

/** The map's own scalar; a value from a merge or an alias is shared with other nodes. */
function ownScalar(map: YAMLMap, key: string, what: string): Scalar {
  const value = pairOf(map, key)?.value
  if (isScalar(value)) return value
  throw composeInvalid(
    isAlias(value) || value === undefined ? `takes ${what} from an alias or a merge. fix: write it out` : `has no text for ${what}`,
  )
}

function replaceScalar(document: ReturnType<typeof parseCompose>, text: string, scalar: Scalar, value: string, what: string): Edit {
  const [start, end] = scalar.range ?? [0, 0]
  const source = text.slice(start, end)
  if (typeof scalar.value !== 'string') throw composeInvalid(`has no text for ${what}`)
  if (scalar.value.includes('$')) throw composeInvalid(`takes ${what} from a variable (${scalar.value}). fix: write it out`)
  if (scalar.type === 'BLOCK_LITERAL' || scalar.type === 'BLOCK_FOLDED')
    throw composeInvalid(`writes ${what} as a block. fix: write it on one line`)
  if (scalar.anchor && isUsed(document, scalar.anchor))
    throw composeInvalid(`shares ${what} with others through the anchor &${scalar.anchor}`)
  const quote = source.startsWith('"') ? '"' : source.startsWith("'") ? "'" : ''
  return { start, end, text: `${quote}${value}${quote}` }
}

function isUsed(document: ReturnType<typeof parseCompose>, anchor: string): boolean {
  let used = false
  visit(document, {
    Alias: (_, alias) => {
      used ||= alias.source === anchor
    },
  })
  return used
}

/** Applies edits from the end, so that offsets stay valid. Parses the result, so an unreadable file is never written. */
export function apply(text: string, edits: readonly Edit[]): string {
  const result = [...edits]
    .sort((a, b) => b.start - a.start)
    .reduce((now, { start, end, text: put }) => now.slice(0, start) + put + now.slice(end), text)
  parseCompose(result)
  return result
}

type Place = Readonly<{
  /** Compose project name, set only where the file has one. */
  project: string
  ports: Readonly<{ public: number; platform: number; probe: number }>
  binds: Readonly<{ public: string; platform: string }>
}>

/** Listeners of the edge by container port (`config/box-template`). */
const listeners = { '8080': 'public', '8081': 'platform', '8082': 'probe' } as const

/**
 * Adapts a compose file to another host: project name and published addresses of the edge; all other bytes stay. Throws COMPOSE_INVALID
 * unless the edge publishes exactly three ports `address:port:8080|8081|8082`.
 */
export function rewritePlace(text: string, { project, ports, binds }: Place): string {
  const document = parseCompose(text)
  const published = document.getIn(['services', 'edge', 'ports'], true)
  if (!isSeq(published)) throw composeInvalid('publishes no ports of the edge')
  const addresses = { ...binds, probe: '127.0.0.1' }
  const edits: Edit[] = published.items.map((item) => {
    const container = isScalar(item) ? /^[^:]+:[0-9]+:(808[012])$/.exec(String(item.value))?.[1] : undefined
    if (!isScalar(item) || container === undefined)
      throw composeInvalid('publishes a port of the edge in a form other than the box template')
    const name = listeners[container as keyof typeof listeners]
    return replaceScalar(document, text, item, `${addresses[name]}:${ports[name]}:${container}`, `the ${name} port`)
  })
  if (edits.length !== 3) throw composeInvalid(`publishes ${edits.length} ports of the edge, expected 3`)
  const contents = document.contents
  const name = isMap(contents) ? pairOf(contents, 'name')?.value : undefined
  if (isScalar(name)) edits.push(replaceScalar(document, text, name, project, 'the name of the project'))
  return apply(text, edits)
}
