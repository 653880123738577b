import { isLiteralImage, mountSources } from './compose-file.ts'
import { recordOf } from './record-of.ts'

/** Findings about a whole file, each one sentence for an operator. The order is that of the file. */
export const composeFindings = (whole: Record<string, unknown>): string[] => findings(whole, imageFindings)

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
