import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type BoxCommandPayload, boxCommands } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { CommandExecutor, ContainerEngine, LocalBox, Project } from '../ports/index.ts'
import { readCompose, readComposeFile } from './compose-file.ts'
import { databaseFilesFindings, databaseWarnings } from './database-files.ts'
import { composeNames, fileOfContainers, fileSetFindings } from './file-set.ts'
import { assertStackUnclaimed, existingBox, type LocalBoxes } from './local-boxes.ts'

import { type ReportDeps, reportVersions } from './report-versions.ts'
import { guardFindings } from './restorable.ts'
import { differenceFindings } from './running-versus-file.ts'
import { assertSafeFolder } from './safe-folder.ts'

type Adopt = BoxCommandPayload<'tenant-box.adopt'>

/** Puts an existing stack under observation: reports, drift and probes, never updates. Changes nothing in the stack. */
export const adopt =
  (deps: ReportDeps & Readonly<{ boxes: LocalBoxes; agentUid?: number }>): CommandExecutor<'tenant-box.adopt'> =>
  async (_, input) => {
    const payload = boxCommands['tenant-box.adopt'].payload.parse(input)
    const project = await projectIn(deps.engine, payload)
    await assertSafeFolder(project, deps.agentUid)
    const text = await readComposeFile(project.composeFile)
    const facts = readCompose(text, project.name)
    const box = await observed(deps.boxes, payload, project)
    await assertStackUnclaimed(deps.boxes, box)
    await deps.boxes.put(box)
    const missing = (['edge', 'synapse', 'postgres', 'minio'] as const).filter((service) => !facts.services[service])
    const findings = [
      ...facts.findings,
      ...missing.map((service) => `service ${service} is missing. fix: add it to the compose file`),
      ...(await fileSetFindings(project)),
      ...(await differenceFindings(deps.engine, project)),
      ...facts.otherServices.map((service) => `service ${service} does not belong to a box; updates ignore it`),
      ...(missing.length > 0 ? [] : await guardFindings(deps, box, text)),
      ...(await databaseFindings(deps, box, facts.database?.volume)),
    ]
    return { report: await reportVersions(deps, box), findings }
  }

async function databaseFindings({ engine, servers }: ReportDeps, box: LocalBox, volume: string | undefined): Promise<string[]> {
  const facts = await servers.databaseFacts(box)
  if (!facts) return []
  const files = volume === undefined ? [] : await databaseFilesFindings({ engine }, facts, volume)
  return [...files.map((reason) => `the box could not be restored: ${reason}`), ...databaseWarnings(facts)]
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
