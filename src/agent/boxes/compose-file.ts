import { type Document, isMap, parseAllDocuments, type YAMLMap } from 'yaml'
import { ImageRef, Service } from '../../core/boxes/index.ts'
import { type Problem, problem, remembered } from '../../core/kit/index.ts'
import { type DatabaseVolume, databaseVolumeOf, recordOf } from './mounts.ts'

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

/** Findings about a whole file, each one sentence for an operator. The order is that of the file. */
const composeFindings = (whole: Record<string, unknown>): string[] => findings(whole, imageFindings)

/** Those that nobody but the stack's owner can mend; an image without a literal tag is not among them. */
export const standingFindings = (whole: Record<string, unknown>): string[] => findings(whole, () => [])

function findings(whole: Record<string, unknown>, more: typeof imageFindings): string[] {
  const services = Object.entries(recordOf(whole.services))
  return [
    ...(whole.include === undefined ? [] : ['the file includes other files, which this agent does not read']),
    ...services.flatMap(([name, service]) => serviceFindings(name, recordOf(service), more)),
    ...Object.entries(recordOf(whole.volumes)).flatMap(([key, value]) =>
      recordOf(value).external ? [`the volume ${key} is external: it cannot be renamed by a restore`] : [],
    ),
  ]
}

const rules: readonly [key: string, says: string][] = [
  ['extends', 'extends another service, which this agent does not follow'],
  ['build', 'is built on the host: its image has no registry digest to prove'],
  ['privileged', 'is privileged: it is root on the host'],
  ['cap_add', 'adds capabilities'],
  ['devices', 'is given devices of the host'],
]

const imageFindings = (name: string, { image }: Record<string, unknown>): string[] =>
  typeof image === 'string' && !isLiteralImage(image) ? [`${name} has no literal image with a tag: ${image}`] : []

function serviceFindings(name: string, service: Record<string, unknown>, more: typeof imageFindings): string[] {
  const found = rules.filter(([key]) => service[key] !== undefined && service[key] !== false).map(([, says]) => `${name} ${says}`)
  for (const key of ['network_mode', 'pid', 'ipc']) if (service[key] === 'host') found.push(`${name} uses the host's own ${key}`)
  return [
    ...found,
    ...more(name, service),
    ...mountSources(service.volumes)
      .filter(isOutside)
      .map((source) => `${name} mounts ${source}, outside the project folder`),
  ]
}

// A named volume has no slash; a folder of the project begins with ./ and never climbs.
const isOutside = (source: string) => /^[/~]|\$|(^|\/)\.\.(\/|$)/.test(source)
