import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { extraFileName, extraFindings, extraNetworksOfEdge, extraServices } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import type { LocalBox, Project } from '../ports/index.ts'

/** The project with the extra file of its folder, if there is one. It is never stored. */
export async function withExtraFile(project: Project): Promise<Project> {
  const path = join(project.folder, extraFileName)
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  )
  return isThere ? { ...project, extraFile: path } : project
}

/** The parsed extra file; undefined without one. Throws COMPOSE_INVALID. */
async function readExtra({ extraFile }: Project): Promise<unknown> {
  if (extraFile === undefined) return undefined
  const text = (await readIfThere(extraFile)) ?? ''
  try {
    return parse(text, { merge: true, maxAliasCount: 200 }) as unknown
  } catch (error) {
    throw problem('COMPOSE_INVALID', `${extraFile} is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}

/** Why the box may not have its extra file. Throws COMPOSE_INVALID. */
export async function findingsOfExtra(project: Project): Promise<string[]> {
  const extra = await readExtra(project)
  return [...extraFindings(extra), ...(extraNetworksOfEdge(extra) ? await nameFindings(project) : [])]
}

/** In a network of others a plain name may lead to a server of another stack. Boxes of earlier versions have one in their edge. */
async function nameFindings({ name, folder }: Project): Promise<string[]> {
  const conf = join(folder, 'edge/conf.d/box.conf')
  if (!/\$synapse synapse:|\$minio minio:/.test((await readIfThere(conf)) ?? '')) return []
  return [
    `the edge reaches synapse and minio by names that other stacks use too. fix: sed -i 's/ synapse:/ ${name}-synapse-1:/; s/ minio:/ ${name}-minio-1:/' ${conf} && docker restart ${name}-edge-1`,
  ]
}

export const extraServicesOf = async (project: Project): Promise<string[]> => extraServices(await readExtra(project))

/** Throws PREFLIGHT_REFUSED for an extra file that changes what the box template decides. */
export async function assertExtraAllowed({ slug, project }: LocalBox): Promise<void> {
  const found = await findingsOfExtra(project)
  if (found.length > 0) throw problem('PREFLIGHT_REFUSED', `${slug} is not changed with this extra file: ${found.slice(0, 5).join('; ')}`)
}
