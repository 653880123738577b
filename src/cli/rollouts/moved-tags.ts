import type { PlannedImage, RolloutPlan } from '../../core/rollouts/index.ts'
import { clean } from '../kit/index.ts'

/**
 * What a person saw in a plan and the rollout was then made without: a tag may be moved in between, or its registry be away. One line each.
 */
export function movedTags(seen: RolloutPlan, made: RolloutPlan): string[] {
  const before = new Map((seen.images ?? []).map(({ image, digest }) => [image, digest]))
  return (made.images ?? []).flatMap((now) => {
    const shown = before.get(now.image)
    return shown && now.digest !== shown ? [`${clean(now.image)} was ${clean(shown)} a moment ago, and ${isNow(now)}`] : []
  })
}

const isNow = ({ digest, why }: PlannedImage): string =>
  digest === null
    ? `nobody can say now what it is${why === undefined ? '' : ` (${clean(why)})`}`
    : `is ${clean(digest)} now: somebody moved the tag`
