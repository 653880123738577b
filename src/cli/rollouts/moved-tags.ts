import type { RolloutPlan } from '../../core/rollouts/index.ts'
import { clean } from '../kit/index.ts'

/** What a person saw in a plan and what the rollout was then made with: a tag may be moved in between. One line each. */
export function movedTags(seen: RolloutPlan, made: RolloutPlan): string[] {
  const before = new Map((seen.images ?? []).map(({ image, digest }) => [image, digest]))
  return (made.images ?? []).flatMap(({ image, digest }) => {
    const shown = before.get(image)
    return shown && digest !== null && digest !== shown
      ? [`${clean(image)} was ${clean(shown)} a moment ago and is ${clean(digest)} now`]
      : []
  })
}
