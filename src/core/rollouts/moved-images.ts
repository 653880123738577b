import { printable } from '../kit/index.ts'
import type { PlannedImage, RolloutPlan } from './plan.ts'

/**
 * Images that changed between the shown plan and the created rollout: a tag was moved, or its registry did not answer. One line each.
 */
export function movedImages(seen: RolloutPlan, made: RolloutPlan): string[] {
  const before = new Map(seen.images.map(({ image, digest }) => [image, digest]))
  return made.images.flatMap((now) => {
    const shown = before.get(now.image)
    return shown && now.digest !== shown ? [`${printable(now.image)} was ${printable(shown)} in the plan and ${isNow(now)}`] : []
  })
}

const isNow = ({ digest, why }: PlannedImage): string =>
  digest === null ? `is unresolved now${why === undefined ? '' : ` (${printable(why)})`}` : `is ${printable(digest)} now (tag moved)`
