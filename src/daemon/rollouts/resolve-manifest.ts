import { imagesOfManifest, parseManifest } from '../../core/boxes/index.ts'
import { type HostToAsk, type KnownBox, knownImages, type PlannedImage } from '../../core/rollouts/index.ts'
import type { RolloutsDeps } from './deps.ts'
import { knownBoxes } from './known-boxes.ts'

type Deps = Pick<RolloutsDeps, 'db' | 'clock' | 'offlineAfterMs' | 'windows' | 'askRegistries'>

/** The digest of every image that a manifest names, as two hosts of the fleet get it; stores nothing. Throws MANIFEST_INVALID. */
export async function resolveManifest(deps: Deps, value: unknown): Promise<PlannedImage[]> {
  const images = imagesOfManifest(parseManifest(value))
  const hosts = hostsOf(await knownBoxes(deps, deps.db))
  return images.map(knownImages([], (await deps.askRegistries?.(images, hosts)) ?? new Map()))
}

/** A host is asked about one of its boxes. */
function hostsOf(boxes: readonly KnownBox[]): HostToAsk[] {
  const hosts = new Map<string, HostToAsk>()
  for (const { hostId, hostName, hostOnline, boxId } of boxes)
    if (hostOnline && !hosts.has(hostId)) hosts.set(hostId, { hostId, hostName, boxId })
  return [...hosts.values()]
}
