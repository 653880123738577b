import { isAlias, isMap, isScalar, type Pair, type Scalar, visit, type YAMLMap } from 'yaml'
import { ImageRef, type Service } from '../../core/boxes/index.ts'
import { composeInvalid, parseCompose } from './compose-file.ts'
import { remembered } from './remembered.ts'

/** Replaces the text from `start` to `end`. */
export type Edit = Readonly<{ start: number; end: number; text: string }>

/** Replaces the images of services; all other bytes stay. Throws COMPOSE_INVALID where that is impossible. */
export const rewriteImages = (text: string, images: Readonly<Partial<Record<Service, string>>>): string =>
  withImages(text, JSON.stringify(images))

const maxTexts = 32

const withImages = remembered(maxTexts, (text: string, requested: string): string => {
  const images = JSON.parse(requested) as Record<string, string>
  const document = parseCompose(text)
  const edits = Object.entries(images).map(([service, image]) => {
    if (!ImageRef.safeParse(image).success) throw composeInvalid(`cannot use ${image} for ${service}: not a literal image with a tag`)
    const at = document.getIn(['services', service], true)
    if (!isMap(at)) throw composeInvalid(at === undefined ? `has no service ${service}` : `defines the service ${service} through an alias`)
    return replaceScalar({ document, text }, ownScalar(at, 'image', `the image of ${service}`), {
      value: image,
      what: `the image of ${service}`,
    })
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

function replaceScalar(
  { document, text }: Readonly<{ document: ReturnType<typeof parseCompose>; text: string }>,
  scalar: Scalar,
  { value, what }: Readonly<{ value: string; what: string }>,
): Edit {
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
