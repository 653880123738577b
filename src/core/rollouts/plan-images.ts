import { type Finding, refusal } from './finding.ts'
import type { PlannedBox, PlannedImage, RolloutPlan } from './plan.ts'
import type { KnownBox } from './preflight.ts'

// The digest of each tag in a plan: what the fleet runs under it, else what its registry resolves. The first pull pins what stays unresolved.

/** The digest of a tag by its registry, and the host that asked it; or why it stays unresolved. `missing`: the registry says it has no such tag. */
export type RegistryAnswer = Readonly<{ digest: string; host: string } | { digest: null; why: string; missing?: boolean }>
export type RegistryAnswers = ReadonlyMap<string, RegistryAnswer>

/** A host that may ask registries: one of its boxes is updated, so it will pull from them anyway. */
export type HostToAsk = Readonly<{ hostId: string; hostName: string; boxId: string }>

/** Resolves each image. A tag under which the fleet runs several digests is not resolved by the fleet. */
export function knownImages(boxes: readonly KnownBox[], resolved: RegistryAnswers): (image: string) => PlannedImage {
  const inFleet = fleetDigests(boxes)
  return (image) => {
    const running = inFleet.get(image)
    if (running) return { image, digest: running, from: 'fleet' }
    const answer = resolved.get(image)
    if (!answer) return { image, digest: null, from: 'first-pull' }
    if (answer.digest === null) return { image, digest: null, from: answer.missing ? 'missing' : 'first-pull', why: answer.why }
    return { image, digest: answer.digest, from: 'registry', askedFrom: answer.host }
  }
}

/** An image that its registry does not have blocks the box; a registry that does not answer does not. */
export const missingImageFindings = (slug: string, images: readonly PlannedImage[]): Finding[] =>
  images
    .filter(({ from }) => from === 'missing')
    .map(({ image, why }) =>
      refusal('IMAGE_NOT_FOUND', `the image ${image} of ${slug} does not exist (${why}). fix: push it, or correct the manifest`),
    )

function fleetDigests(boxes: readonly KnownBox[]): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>()
  for (const service of boxes.flatMap(({ report }) => Object.values(report?.services ?? {}))) {
    if (!service?.digest) continue
    const { image, digest } = service
    found.set(image, (found.get(image) ?? digest) === digest && found.get(image) !== null ? digest : null)
  }
  return found
}

/** Each image that a box would get, once, sorted. */
export const imagesOf = (boxes: readonly PlannedBox[], know: (image: string) => PlannedImage): PlannedImage[] =>
  [...new Set(movingIn(boxes).flatMap(({ images }) => Object.values(images).map(({ image }) => image)))].sort().map(know)

/** The images that a registry must resolve. */
export const unresolvedImages = ({ images = [] }: RolloutPlan): string[] =>
  images.flatMap(({ image, digest }) => (digest === null ? [image] : []))

/** Images pinned before the first pull. Those that the fleet runs are pulled by tag: an operator decides about a moved tag. */
export const pinnedDigests = ({ images = [] }: RolloutPlan): Record<string, string> =>
  Object.fromEntries(images.flatMap(({ image, digest, from }) => (from === 'registry' && digest !== null ? [[image, digest]] : [])))

/** In the order in which they would pull. An offline host has no box that is updated. */
export function hostsToAsk({ phases, boxes }: RolloutPlan): HostToAsk[] {
  const order = phases.map(({ phase }) => phase)
  const hosts = new Map<string, HostToAsk>()
  for (const { hostId, hostName = hostId, boxId } of movingIn(boxes).toSorted((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase)))
    if (!hosts.has(hostId)) hosts.set(hostId, { hostId, hostName, boxId })
  return [...hosts.values()]
}

const movingIn = (boxes: readonly PlannedBox[]): PlannedBox[] => boxes.filter(({ does }) => does === 'update')
