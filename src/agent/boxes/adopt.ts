import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BoxCommandPayload, boxCommands } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import type { CommandExecutor, LocalBox, Project } from '../ports/index.ts'
import { readCompose } from './compose-file.ts'
import { knownOf, type LocalBoxes, refuseStackOfOther } from './local-boxes.ts'

import { type ReportDeps, reportVersions } from './report-versions.ts'
import { needSafeFolder } from './safe-folder.ts'

type Adopt = BoxCommandPayload<'tenant-box.adopt'>

/** Takes a stack as it is under observation: reports, drift and probes, never an update. Nothing of it is changed. */
export const adopt =
  (deps: ReportDeps & Readonly<{ boxes: LocalBoxes; agentUid?: number }>): CommandExecutor<'tenant-box.adopt'> =>
  async (_, given) => {
    const payload = boxCommands['tenant-box.adopt'].payload.parse(given)
    const project = await projectIn(payload)
    await needSafeFolder(project, deps.agentUid)
    const facts = readCompose(await readFile(project.composeFile, 'utf8'), project.name)
    const box = await observed(deps.boxes, payload, project)
    await refuseStackOfOther(deps.boxes, box)
    await deps.boxes.put(box)
    const missing = (['edge', 'synapse', 'postgres', 'minio'] as const).filter((service) => !facts.services[service])
    const findings = [
      ...facts.findings,
      ...missing.map((service) => `there is no service named ${service}`),
      ...facts.otherServices.map((service) => `the service ${service} is none of a box; updates would leave it alone`),
    ]
    return { report: await reportVersions(deps, box), findings }
  }

/** A box that is managed already stays so; adoption never takes that away. */
async function observed(boxes: LocalBoxes, payload: Adopt, project: Project): Promise<LocalBox> {
  const { slug, boxId, ownershipEpoch } = payload
  const known = await knownOf(boxes, payload)
  if (known?.project.folder === project.folder) return { ...known, ownershipEpoch }
  if (known) throw problem('ALREADY_EXISTS', `the box ${slug} lies in ${known.project.folder} already`)
  return { slug, boxId, ownershipEpoch, managed: false, chatDomain: 'unknown', project, ports: null, migrationsHead: '0000' }
}

/** The names that compose itself looks for, in its order. */
const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml']

async function projectIn({ folder, project: name }: Adopt): Promise<Project> {
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw problem('NOT_FOUND', `the folder ${folder} cannot be read: ${error.code}`)
  })
  const file = composeNames.find((candidate) => present.includes(candidate))
  if (file === undefined) throw problem('NOT_FOUND', `there is no compose file in ${folder}`)
  const envFile = join(folder, '.env')
  const hasEnv = (await readIfThere(envFile)) !== undefined
  return { name, folder, composeFile: join(folder, file), ...(hasEnv ? { envFile } : {}) }
}
