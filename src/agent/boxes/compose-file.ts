import { type Document, isMap, parseAllDocuments, type YAMLMap } from 'yaml'
import { ImageRef, Service } from '../../core/boxes/index.ts'
import { type Problem, problem } from '../../core/kit/index.ts'
import { readUtf8 } from '../../node/index.ts'
import { type DatabaseVolume, databaseVolumeOf, recordOf } from './mounts.ts'
import { remembered } from './remembered.ts'

/** A box as its compose file describes it, with anchors and merges resolved. */
export type ComposeFacts = Readonly<{
  /** The box's own services; the image as written. */
  services: Readonly<Partial<Record<Service, Readonly<{ image: string; volumes: readonly string[] }>>>>
  /** Services other than the four of a box. */
  otherServices: readonly string[]
  /** Real name of each volume by its key in the file. */
  volumes: Readonly<Record<string, string>>
  /** Keys of volumes mounted only by the box's own services. */
  ownVolumes: readonly string[]
  /** The data volume of PostgreSQL. */
  database: DatabaseVolume | undefined
}>

export const composeInvalid = (reason: string, cause?: unknown): Problem =>
  problem('COMPOSE_INVALID', `The compose file ${reason}`, { cause })

/** The whole text of a compose file. Throws COMPOSE_INVALID for one that is not UTF-8: compose refuses it, and a change would damage its letters. */
export const readComposeFile = (path: string): Promise<string> => readUtf8(path, { code: 'COMPOSE_INVALID', keepMark: true })

/** Exactly one YAML document with a map of services; positions in it are offsets into `text`. Throws COMPOSE_INVALID. */
export function parseCompose(text: string): Document.Parsed<YAMLMap.Parsed> {
  const documents = parseAllDocuments(text, { merge: true })
  const [document] = documents
  if (!Array.isArray(documents) || !document) throw composeInvalid('is empty')
  if (documents.length > 1) throw composeInvalid('holds more than one YAML document')
  const [error] = document.errors
  if (error) throw composeInvalid(`is not YAML: ${error.message.split('\n')[0]}`, error)
  if (!isMap(document.contents)) throw composeInvalid('is not a map')
  if (!isMap(document.get('services', true))) throw composeInvalid('has no services')
  return document as Document.Parsed<YAMLMap.Parsed>
}

/** An update reads the file about ten times, in two versions. */
const maxTexts = 32

/** Reads the services and volumes; `projectName` names volumes that the file leaves unnamed. Throws COMPOSE_INVALID. */
export const readCompose: (text: string, projectName: string) => ComposeFacts = remembered(maxTexts, (text, projectName) =>
  composeFacts(resolvedCompose(text), projectName),
)

/** The whole file as plain values, anchors and merges resolved; treat it as immutable. Throws COMPOSE_INVALID. */
export const resolvedCompose: (text: string) => Readonly<Record<string, unknown>> = remembered(maxTexts, (text) =>
  plain(parseCompose(text)),
)

/** The same facts from a resolved file, such as the one that the engine resolves with the values of variables. */
export function composeFacts(whole: Readonly<Record<string, unknown>>, projectName: string): ComposeFacts {
  const services = recordOf(whole.services)
  const volumes = Object.fromEntries(
    Object.entries(recordOf(whole.volumes)).map(([key, value]) => [key, volumeName(projectName, key, value)]),
  )
  const names = Object.keys(services)
  const known = names.filter((name): name is Service => Service.safeParse(name).success)
  return {
    services: Object.fromEntries(known.map((name) => [name, serviceFacts(name, recordOf(services[name]), volumes)])),
    otherServices: names.filter((name) => !Service.safeParse(name).success),
    volumes,
    ownVolumes: ownVolumes(services, volumes),
    database: databaseVolumeOf(recordOf(services.postgres), volumes),
  }
}

function plain(document: Document): Record<string, unknown> {
  try {
    return recordOf(document.toJS({ maxAliasCount: 200 }))
  } catch (error) {
    throw composeInvalid(`cannot be resolved: ${(error as Error).message}`, error)
  }
}

const volumeName = (projectName: string, key: string, value: unknown) => {
  const { name, external } = recordOf(value)
  if (typeof name === 'string') return name
  const former = recordOf(external).name
  return typeof former === 'string' ? former : external ? key : `${projectName}_${key}`
}

function serviceFacts(name: Service, service: Record<string, unknown>, volumes: Record<string, string>) {
  if (typeof service.image !== 'string') throw composeInvalid(`gives the service ${name} no image`)
  return { image: service.image, volumes: mountSources(service.volumes).flatMap((source) => volumes[source] ?? []) }
}

function ownVolumes(services: Record<string, unknown>, volumes: Record<string, string>): string[] {
  const mountedBy = (ofBox: boolean) =>
    Object.entries(services)
      .filter(([name]) => Service.safeParse(name).success === ofBox)
      .flatMap(([, service]) => mountSources(recordOf(service).volumes))
  const [own, others] = [mountedBy(true), mountedBy(false)]
  return Object.keys(volumes).filter((key) => own.includes(key) && !others.includes(key))
}

/** Mount sources, from the short form `a:b` and the long form `source:`. */
export function mountSources(mounts: unknown): string[] {
  if (!Array.isArray(mounts)) return []
  return mounts.flatMap((mount) => {
    const source = typeof mount === 'string' ? mount.split(':')[0] : recordOf(mount).source
    return typeof source === 'string' ? [source] : []
  })
}

/** True for a literal `repository:tag` without variables, which a rewrite can replace. */
export const isLiteralImage = (image: string): boolean => ImageRef.safeParse(image).success
