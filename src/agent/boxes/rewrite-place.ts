import { isMap, isScalar, isSeq } from 'yaml'
import { composeInvalid, parseCompose } from './compose-file.ts'
import { apply, type Edit, pairOf, replaceScalar } from './rewrite-compose.ts'

type Place = Readonly<{
  /** The compose project's name, where the file says one. */
  project: string
  ports: Readonly<{ public: number; platform: number; probe: number }>
  binds: Readonly<{ public: string; platform: string }>
}>

/** The edge's listeners, by their ports inside its container (`config/box-template`). */
const listeners = { '8080': 'public', '8081': 'platform', '8082': 'probe' } as const

/**
 * Brings a box's compose file to another host: the project's name, and the addresses on which the edge is published. All else stays byte for
 * byte. Throws COMPOSE_INVALID for an edge that is published otherwise than by three lines `address:port:8080|8081|8082`.
 */
export function rewritePlace(text: string, { project, ports, binds }: Place): string {
  const document = parseCompose(text)
  const published = document.getIn(['services', 'edge', 'ports'], true)
  if (!isSeq(published)) throw composeInvalid('publishes no ports of the edge')
  const addresses = { ...binds, probe: '127.0.0.1' }
  const edits: Edit[] = published.items.map((item) => {
    const container = isScalar(item) ? /^[^:]+:[0-9]+:(808[012])$/.exec(String(item.value))?.[1] : undefined
    if (!isScalar(item) || container === undefined)
      throw composeInvalid('publishes a port of the edge in another way than the box template')
    const name = listeners[container as keyof typeof listeners]
    return replaceScalar(document, text, item, `${addresses[name]}:${ports[name]}:${container}`, `the ${name} port`)
  })
  if (edits.length !== 3) throw composeInvalid(`publishes ${edits.length} ports of the edge and not three`)
  const contents = document.contents
  const name = isMap(contents) ? pairOf(contents, 'name')?.value : undefined
  if (isScalar(name)) edits.push(replaceScalar(document, text, name, project, 'the name of the project'))
  return apply(text, edits)
}
