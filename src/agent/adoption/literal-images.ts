import { parseImage, type Service } from '../../core/boxes/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { assertAllowedImage, installedVersion, isLiteralImage } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, ContainerState } from '../ports/index.ts'
import type { Survey } from './survey.ts'

type Deps = Readonly<{ engine: ContainerEngine; servers: BoxServers; settings: Readonly<{ allowedImages: readonly string[] }> }>
type Found = Readonly<{ images: Readonly<Partial<Record<Service, string>>>; findings: readonly string[] }>

/** Version tags of the running images, for services that use a variable or `latest`. */
export async function literalImages(deps: Deps, survey: Survey): Promise<Found> {
  const images: Partial<Record<Service, string>> = {}
  const findings: string[] = []
  for (const service of ['synapse', 'postgres', 'minio'] as const) {
    const container = survey.containers.find((one) => one.service === service && one.state === 'running')
    const written = survey.services[service]?.image
    if (!container) continue
    if (typeof written === 'string' && saysVersion(written)) {
      if (await isMoved(deps, container)) findings.push(movedTag(service, container.image))
      continue
    }
    const found = [container.image, written].some((image) => String(image).includes('@'))
      ? pinned
      : await literalFor(deps, survey, container)
    if ('image' in found) images[service] = found.image
    else findings.push(`${service} has no image tag with a version (${String(written)}): ${found.reason}`)
  }
  return { images, findings }
}

const pinned = { reason: 'it is pinned by digest, and an update changes tags. fix: write repository:tag without the digest' }

/** A recreation would start what the tag names now. */
const isMoved = async ({ engine }: Deps, { image, digest }: ContainerState): Promise<boolean> => {
  const local = await engine.localDigest(image)
  return Boolean(digest && local && digest !== local)
}

const movedTag = (service: Service, image: string): string =>
  `${service} runs another image than ${image} names on this host now, because the tag was pulled again. fix: bring it up with docker compose up -d, or write the tag of the running image`

const saysVersion = (image: string): boolean => isLiteralImage(image) && parseImage(image).tag !== 'latest'

async function literalFor(
  { engine, servers, settings }: Deps,
  { box }: Survey,
  container: ContainerState,
): Promise<{ image: string } | { reason: string }> {
  const service = container.service as 'synapse' | 'postgres' | 'minio'
  if (container.digest === null) return { reason: 'the running image is not from a registry. fix: use an image from a registry' }
  const candidate = saysVersion(container.image) ? container.image : await named(servers, box, { service, image: container.image })
  if (candidate === undefined) return { reason: 'the server does not report its version. fix: write the tag into the compose file' }
  if (!isLiteralImage(candidate)) return { reason: `${candidate} is not repository:tag. fix: write the tag into the compose file` }
  assertAllowedImage(settings.allowedImages, candidate)
  try {
    const digest = (await engine.localDigest(candidate)) ?? (await engine.pull(candidate, {}))
    if (digest === container.digest) return { image: candidate }
    return { reason: `${candidate} is not the running image. fix: write the tag of the running image into the compose file` }
  } catch (error) {
    if (!isProblem(error)) throw error
    return { reason: `${candidate} cannot be compared with the running image: ${error.message}` }
  }
}

async function named(
  servers: BoxServers,
  box: Survey['box'],
  { service, image }: Readonly<{ service: 'synapse' | 'postgres' | 'minio'; image: string }>,
): Promise<string | undefined> {
  const version = installedVersion(service, (await servers.serverVersions(box))[service], undefined)
  const repository = isLiteralImage(image) ? parseImage(image).repository : image
  const candidate = `${repository}:${service === 'synapse' ? 'v' : ''}${version}`
  return version === 'unknown' ? undefined : candidate
}
