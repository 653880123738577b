import { type Document, isMap, parseAllDocuments, type YAMLMap } from 'yaml'
import { ImageRef, Service } from '../../core/boxes/index.ts'
import { type Problem, problem, remembered } from '../../core/kit/index.ts'
import { composeFindings } from './compose-findings.ts'
import { type DatabaseVolume, databaseVolumeOf } from './database-volume.ts'
import { recordOf } from './record-of.ts'

/** What a compose file says about a box, anchors and merges resolved. */
export type ComposeFacts = Readonly<{
  /** The box's own services; the image as written. */
  services: Readonly<Partial<Record<Service, Readonly<{ image: string; volumes: readonly string[] }>>>>
  /** Services that are none of the four of a box. */
  otherServices: readonly string[]
  /** Real name of each volume by its key in the file. */
  volumes: Readonly<Record<string, string>>
  /** Keys of the volumes that the box's own services mount, and nobody else. */
  ownVolumes: readonly string[]
  /** The volume that PostgreSQL keeps its data in, among those that it mounts. */
  database: DatabaseVolume | undefined
  /** What an operator must confirm before the agent touches this stack. */
  findings: readonly string[]
}>

export const composeInvalid = (reason: string, cause?: unknown): Problem =>
  problem('COMPOSE_INVALID', `the compose file ${reason}`, { cause })

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

/** A file is looked at some ten times while a box is updated, and is two texts in all. */
const mostTexts = 32

/** Reads the services, volumes and findings; `projectName` names volumes that the file leaves unnamed. Throws COMPOSE_INVALID. */
export const readCompose: (text: string, projectName: string) => ComposeFacts = remembered(mostTexts, factsOf)

/** All that the file says, anchors and merges resolved: many boxes have the same text, under names of their own. Nobody changes it. Throws COMPOSE_INVALID. */
export const plainCompose: (text: string) => Readonly<Record<string, unknown>> = remembered(mostTexts, (text) => plain(parseCompose(text)))

function factsOf(text: string, projectName: string): ComposeFacts {
  const whole = plainCompose(text)
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
    findings: composeFindings(whole),
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
  const { name } = recordOf(value)
  return typeof name === 'string' ? name : `${projectName}_${key}`
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

/** Left sides of `a:b` mounts and `source:` of long ones. */
export function mountSources(mounts: unknown): string[] {
  if (!Array.isArray(mounts)) return []
  return mounts.flatMap((mount) => {
    const source = typeof mount === 'string' ? mount.split(':')[0] : recordOf(mount).source
    return typeof source === 'string' ? [source] : []
  })
}

/** True when the image can be exchanged by a rewrite: a literal `repository:tag`, no variable in it. */
export const isLiteralImage = (image: string): boolean => ImageRef.safeParse(image).success
