import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type BoxCommandPayload, boxCommands } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { CommandExecutor, ContainerEngine, ContainerState, LocalBox, Project } from '../ports/index.ts'
import { readCompose, readComposeFile } from './compose-file.ts'
import { assertStackUnclaimed, existingBox, type LocalBoxes } from './local-boxes.ts'

import { type ReportDeps, reportVersions } from './report-versions.ts'
import { assertSafeFolder } from './safe-folder.ts'

type Adopt = BoxCommandPayload<'tenant-box.adopt'>

/** Puts an existing stack under observation: reports and probes, until it is imported. Changes nothing in the stack. */
export const adopt =
  (deps: ReportDeps & Readonly<{ boxes: LocalBoxes; agentUid?: number }>): CommandExecutor<'tenant-box.adopt'> =>
  async (_, input) => {
    const payload = boxCommands['tenant-box.adopt'].payload.parse(input)
    const project = await projectIn(deps.engine, payload)
    await assertSafeFolder(project, deps.agentUid)
    readCompose(await readComposeFile(project.composeFile), project.name)
    const box = await observed(deps.boxes, payload, project)
    await assertStackUnclaimed(deps.boxes, box)
    await deps.boxes.put(box)
    return { report: await reportVersions(deps, box) }
  }

/** Adoption never turns a managed box into an observed one. */
async function observed(boxes: LocalBoxes, payload: Adopt, project: Project): Promise<LocalBox> {
  const { slug, boxId, ownershipEpoch } = payload
  const known = await existingBox(boxes, payload)
  if (known?.project.folder === project.folder) return { ...known, ...(known.managed ? {} : { project }), ownershipEpoch }
  if (known)
    throw problem('ALREADY_EXISTS', `Box ${slug} already exists in ${known.project.folder}. fix: adopt that folder or use another slug`)
  return { slug, boxId, ownershipEpoch, managed: false, chatDomain: 'unknown', project, ports: null, migrationsHead: '0000' }
}

/** The files that the running containers name; else compose's default names. */
export async function projectIn(engine: ContainerEngine, { folder, project: name }: Pick<Adopt, 'folder' | 'project'>): Promise<Project> {
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'does not exist' : `cannot be read (${error.code})`
    throw problem('NOT_FOUND', `Folder ${folder} ${why} on this host. fix: adopt again with the folder that has the compose file`)
  })
  const containers = await engine.containers({ name, folder, composeFile: join(folder, composeNames[0] as string) })
  const named = (key: 'composeFiles' | 'envFiles') => {
    const path = fileOfContainers(folder, containers, key)
    const isOurs = path !== undefined && basename(path).startsWith('.compose.')
    return path !== undefined && !isOurs && present.includes(basename(path)) ? path : undefined
  }
  const file = composeNames.find((candidate) => present.includes(candidate))
  const composeFile = named('composeFiles') ?? (file === undefined ? undefined : join(folder, file))
  if (composeFile === undefined)
    throw problem(
      'NOT_FOUND',
      `No compose file in ${folder} (looked for ${composeNames.join(', ')}). fix: adopt again with the folder that has the compose file`,
    )
  const envFile = named('envFiles') ?? (present.includes('.env') ? join(folder, '.env') : undefined)
  return { name, folder, composeFile, ...(envFile === undefined ? {} : { envFile }) }
}

/** The default names of compose, in its order. */
const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml']

/** The one file in the folder that all containers were brought up from; undefined where that is not so. */
function fileOfContainers(folder: string, containers: readonly ContainerState[], key: 'composeFiles' | 'envFiles'): string | undefined {
  // A container that a restore recreated names a file of the agent, which says nothing about the owner's.
  const byOwner = containers.filter(({ composeFiles }) => !composeFiles.some((path) => basename(path).startsWith('.compose.')))
  const sets = [...new Set(byOwner.map((container) => container[key].join('\n')))]
  const [only] = sets
  return sets.length === 1 && only && !only.includes('\n') && dirname(only) === folder ? only : undefined
}
