import { join } from 'node:path'
import type { Project } from '../ports/index.ts'
import { checkedSlug } from './local-boxes.ts'
import type { BoxSettings } from './provision.ts'

/** Where a box that this host makes lies, and what its compose project is called. */
export function projectOf(
  { boxesFolder, projectPrefix = 'box-' }: Pick<BoxSettings, 'boxesFolder' | 'projectPrefix'>,
  slug: string,
): Project {
  const folder = join(boxesFolder, checkedSlug(slug))
  return { name: `${projectPrefix}${slug}`, folder, composeFile: join(folder, 'compose.yaml') }
}
