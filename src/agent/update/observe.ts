import type { UpdateWorld } from '../../core/boxes/index.ts'
import { remembered, sha256Hex } from '../../core/kit/index.ts'
import { observeBox } from '../change/index.ts'
import type { UpdateRun } from './update-run.ts'

/** What is on the host now, as far as the plan depends on it. */
export async function observe(run: UpdateRun): Promise<UpdateWorld> {
  const { world, serving, text } = await observeBox(run)
  return { ...world, serving, compose: composeOf(run, text) }
}

/** The text is looked at before each step, and is two texts in all. */
const sumOf = remembered(4, sha256Hex)

function composeOf(run: UpdateRun, text: string): UpdateWorld['compose'] {
  const before = run.evidence().prefetch
  const sum = sumOf(text)
  if (!before || sum === before.composeSha256) return 'former'
  return sum === before.targetSha256 ? 'target' : 'other'
}
