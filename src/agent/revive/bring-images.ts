import { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { TellingManifest } from '../backup/index.ts'
import { needAllowedImage } from '../boxes/index.ts'
import { bringImage } from '../guarded/index.ts'
import type { CommandContext } from '../ports/index.ts'
import type { ReviveNeeds } from './needs.ts'

type Wanted = Readonly<{
  services: readonly Service[]
  /** What keeps them from being pruned until `unpin`. */
  pin: string
  context: Pick<CommandContext, 'progress'>
  signal: AbortSignal
}>

/** Sees to it that the images with which the snapshot was made are here, by digest. Throws IMAGE_NOT_ALLOWED, PULL_FAILED and its kin. */
export async function bringImages(
  needs: ReviveNeeds,
  { images, slug }: TellingManifest,
  { services, pin, context, signal }: Wanted,
): Promise<void> {
  for (const service of Service.options.filter((one) => services.includes(one))) {
    const wanted = images[service]
    if (!wanted) throw problem('RESTORE_FAILED', `the snapshot of ${slug} does not say which image ${service} ran`)
    needAllowedImage(needs.allowedImages, wanted.image)
    const onProgress = ({ percent, detail }: { percent: number; detail: string }) =>
      context.progress({ step: 'images', percent, detail: `${service}: ${detail}`.slice(0, 500) })
    await bringImage(needs, { image: wanted.image, digest: wanted.digest ?? undefined, signal, onProgress })
    await needs.engine.pin(wanted.image, pin)
  }
}
