import type { PlannedBox, PlannedImage, RolloutPlan } from './plan.ts'
import type { KnownBox } from './preflight.ts'

// Which image stands behind each tag of a plan: what the fleet runs under it, else what its registry said. What nobody can tell is decided
// by the first pull.

/** What a registry said of a tag, and the host from which it was asked; or why nobody could say. */
export type RegistryAnswer = Readonly<{ digest: string; host: string } | { digest: null; why: string }>
export type RegistryAnswers = ReadonlyMap<string, RegistryAnswer>

/** A host from which registries may be asked: one of its boxes moves, so it will pull from them anyway. */
export type HostToAsk = Readonly<{ hostId: string; hostName: string; boxId: string }>

/** How each image is known, by its reference. Under a tag of which the fleet runs several images, none is the one. */
export function knownImages(boxes: readonly KnownBox[], resolved: RegistryAnswers): (image: string) => PlannedImage {
  const seen = digestsSeen(boxes)
  return (image) => {
    const running = seen.get(image)
    if (running) return { image, digest: running, from: 'fleet' }
    const said = resolved.get(image)
    if (!said) return { image, digest: null, from: 'first-pull' }
    if (said.digest === null) return { image, digest: null, from: 'first-pull', why: said.why }
    return { image, digest: said.digest, from: 'registry', askedFrom: said.host }
  }
}

function digestsSeen(boxes: readonly KnownBox[]): ReadonlyMap<string, string | null> {
  const seen = new Map<string, string | null>()
  for (const service of boxes.flatMap(({ report }) => Object.values(report?.services ?? {}))) {
    if (!service?.digest) continue
    const { image, digest } = service
    seen.set(image, (seen.get(image) ?? digest) === digest && seen.get(image) !== null ? digest : null)
  }
  return seen
}

/** Each image that a box would get, once, by name. */
export const imagesOf = (boxes: readonly PlannedBox[], know: (image: string) => PlannedImage): PlannedImage[] =>
  [...new Set(movingIn(boxes).flatMap(({ images }) => Object.values(images).map(({ image }) => image)))].sort().map(know)

/** What a registry would have to be asked for. */
export const unresolvedImages = ({ images = [] }: RolloutPlan): string[] =>
  images.flatMap(({ image, digest }) => (digest === null ? [image] : []))

/** What is pulled by its digest from the first box on. What the fleet runs is pulled by its tag: one that was moved is for a person to decide. */
export const pinnedDigests = ({ images = [] }: RolloutPlan): Record<string, string> =>
  Object.fromEntries(images.flatMap(({ image, digest, from }) => (from === 'registry' && digest !== null ? [[image, digest]] : [])))

/** In the order in which they would pull. A host that is away has no box that moves. */
export function hostsToAsk({ phases, boxes }: RolloutPlan): HostToAsk[] {
  const order = phases.map(({ phase }) => phase)
  const hosts = new Map<string, HostToAsk>()
  for (const { hostId, hostName = hostId, boxId } of movingIn(boxes).toSorted((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase)))
    if (!hosts.has(hostId)) hosts.set(hostId, { hostId, hostName, boxId })
  return [...hosts.values()]
}

const movingIn = (boxes: readonly PlannedBox[]): PlannedBox[] => boxes.filter(({ does }) => does === 'update')
