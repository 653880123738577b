import { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { TellingManifest } from '../backup/index.ts'
import { bringImages } from '../boxes/index.ts'
import type { ReviveDeps } from './deps.ts'

type Wanted = Omit<Parameters<typeof bringImages>[1], 'images' | 'step'> & Readonly<{ services: readonly Service[] }>

/** Sees to it that the images with which the snapshot was made are here, by digest. Throws as `bringImages` does, and RESTORE_FAILED. */
export async function bringFormerImages(deps: ReviveDeps, { images, slug }: TellingManifest, { services, ...how }: Wanted): Promise<void> {
  const wanted = Service.options.filter((service) => services.includes(service)).map((service) => [service, images[service]] as const)
  const unknown = wanted.find(([, image]) => !image)
  if (unknown) throw problem('RESTORE_FAILED', `the snapshot of ${slug} does not say which image ${unknown[0]} ran`)
  await bringImages(deps, { ...how, images: Object.fromEntries(wanted), step: 'images' })
}
