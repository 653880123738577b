import { problem } from '../../core/kit/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { LocalBoxes } from './local-boxes.ts'

/**
 * Two boxes over one stack would be updated and restored beside each other: whoever takes a box takes its slug, not its containers. One that is
 * only observed changes nothing. Throws ALREADY_EXISTS.
 */
export async function refuseStackOfOther(
  boxes: Pick<LocalBoxes, 'list'>,
  { slug, project }: Pick<LocalBox, 'slug' | 'project'>,
): Promise<void> {
  const { name, folder } = project
  const other = (await boxes.list()).find(
    (box) => box.managed && box.slug !== slug && (box.project.name === name || box.project.folder === folder),
  )
  if (!other) return
  throw problem(
    'ALREADY_EXISTS',
    `the project ${name} in ${folder} is the box ${other.slug} already: name that one, or another project and folder`,
  )
}
