import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { LocalBox, Project } from '../ports/index.ts'
import { knownOf } from './box-of-command.ts'
import { type BoxSecrets, newBoxSecrets, readBoxSecrets, writeBoxSecrets } from './box-secrets.ts'
import { projectOf } from './project-of.ts'
import type { Provision, ProvisionDeps } from './provision.ts'
import { renderBox } from './render-box.ts'
import { needSafeFolder } from './safe-folder.ts'

/**
 * The box's folder, secrets, files and record, made or found again. Refusals come before anything is created:
 * ALREADY_EXISTS for a name or folder of somebody else, PORT_TAKEN for a port.
 */
export async function layOut(deps: ProvisionDeps, payload: Provision): Promise<{ box: LocalBox; secrets: BoxSecrets }> {
  const project = projectOf(deps.settings, payload.slug)
  const facts = factsOf(deps, payload, project)
  const box = await knownOf(deps.boxes, payload)
  const secrets = await ownSecrets(payload, project)
  if (!secrets) await refuseTaken(deps, payload, project)
  await mkdir(join(project.folder, 'secrets'), { recursive: true, mode: 0o700 })
  const made = secrets ?? newBoxSecrets(deps.random, payload.boxId)
  if (!secrets) await writeBoxSecrets(project, made)
  if (!box?.managed) await renderBox(deps.settings.templateFolder, project.folder, facts, made)
  await needSafeFolder(project)
  return { box: await record(deps, payload, project, box), secrets: made }
}

/** The secrets of an earlier run of this very box; undefined when nothing is there yet. */
async function ownSecrets({ boxId }: Provision, project: Project): Promise<BoxSecrets | undefined> {
  const secrets = await readBoxSecrets(project)
  if (secrets && secrets.boxId !== boxId) throw problem('ALREADY_EXISTS', `${project.folder} holds another box (${secrets.boxId})`)
  if (secrets) return secrets
  const present = (await readdir(project.folder).catch(() => [])).filter((name) => name !== 'secrets')
  if (present.length > 0) throw problem('ALREADY_EXISTS', `${project.folder} is not empty; move it away or adopt it`)
  return undefined
}

/** Throws PORT_TAKEN or ALREADY_EXISTS when a box with these ports cannot be made here. */
export async function refuseTaken(
  { boxes, engine, portInUse }: Pick<ProvisionDeps, 'boxes' | 'engine' | 'portInUse'>,
  { ports, slug }: Pick<Provision, 'ports' | 'slug'>,
  project: Project,
): Promise<void> {
  const wanted = Object.entries(ports)
  if (new Set(Object.values(ports)).size < wanted.length) throw problem('PORT_TAKEN', `the three ports of ${slug} must differ`)
  if ((await engine.containers(project)).length > 0)
    throw problem('ALREADY_EXISTS', `containers of a project ${project.name} are here already`)
  for (const other of await boxes.list()) {
    const clash = wanted.find(([, port]) => Object.values(other.ports ?? {}).includes(port))
    if (clash) throw problem('PORT_TAKEN', `the ${clash[0]} port ${clash[1]} belongs to the box ${other.slug}`)
  }
  for (const [name, port] of wanted)
    if (await portInUse(port)) throw problem('PORT_TAKEN', `the ${name} port ${port} is in use on this host`)
}

const factsOf = ({ settings }: ProvisionDeps, payload: Provision, project: Project) => ({
  slug: payload.slug,
  boxId: payload.boxId,
  project: project.name,
  chatDomain: payload.chatDomain,
  publicUrl: plainUrl(payload.publicUrl),
  images: payload.images,
  ports: payload.ports,
  binds: settings.binds,
  maxUploadMegabytes: settings.maxUploadMegabytes,
})

/** Scheme, host and port alone: it stands in the edge's config. */
export function plainUrl(text: string): string {
  if (/^https?:\/\/[a-z0-9.-]+(:[0-9]{1,5})?\/?$/.test(text)) return text.replace(/\/$/, '')
  throw problem('VALIDATION', `publicUrl must be scheme, host and port only, such as https://chat.school.example`)
}

/** Known from here on, but not managed before it has proven healthy. */
async function record({ boxes }: ProvisionDeps, payload: Provision, project: Project, known: LocalBox | undefined): Promise<LocalBox> {
  const { slug, boxId, ownershipEpoch, chatDomain, ports } = payload
  const box: LocalBox = known
    ? { ...known, ownershipEpoch }
    : { slug, boxId, ownershipEpoch, managed: false, chatDomain, project, ports, migrationsHead: '0000' }
  await boxes.put(box)
  return box
}
