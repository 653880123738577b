import { chmod, chown, mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type Problem, problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import type { BoxSecrets } from './box-secrets.ts'

/** Template values of a box other than its secrets. */
export type RenderFacts = Readonly<{
  slug: string
  boxId: string
  project: string
  chatDomain: string
  /** Without a trailing slash. */
  publicUrl: string
  images: Readonly<{ edge: string; synapse: string; postgres: string; minio: string }>
  ports: Readonly<{ public: number; platform: number; probe: number }>
  /** Published addresses of the two outer listeners; the probe listener is always on loopback. */
  binds: Readonly<{ public: string; platform: string }>
  maxUploadMegabytes: number
  /** Default: the project. */
  minioRootUser?: string
}>

/** Contains no secret and runs as the image's user. */
const initFile = 'postgres/init/10-owner.sh'

/** User id of the Synapse image. */
const synapseUid = 991

/** Writes rendered files with the owners and modes that the box template needs. */
export async function writeBoxFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  await mkdir(join(folder, 'edge', 'fence'), { recursive: true, mode: 0o700 })
  for (const [path, content] of files) await writeBoxFile(folder, path, content)
  // The nginx workers and PostgreSQL read these as unprivileged users.
  for (const shared of ['edge/fence', dirname(initFile)]) await chmod(join(folder, shared), 0o755)
  await giveSynapseItsFiles(folder, [...files.keys()])
}

/** File contents by path within the box's folder; the same again after a crash. */
export const renderedFiles = async (templateFolder: string, facts: RenderFacts, secrets: BoxSecrets): Promise<Map<string, string>> =>
  renderTemplates(await readTemplates(templateFolder), valuesOf(facts, secrets))

async function readTemplates(templateFolder: string): Promise<Map<string, string>> {
  const entries = await readdir(templateFolder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile() && entry.name !== 'README.md').map((entry) => join(entry.parentPath, entry.name))
  const read = async (path: string) => [relative(templateFolder, path), await readFile(path, 'utf8')] as const
  return new Map(await Promise.all(paths.sort().map(read)))
}

async function writeBoxFile(folder: string, path: string, content: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
  await writeFileAtomic(join(folder, path), content, { mode: path === initFile ? 0o755 : 0o600 })
}

async function giveSynapseItsFiles(folder: string, paths: readonly string[]): Promise<void> {
  // Without root (tests, rehearsals) the agent's user owns all files.
  if (process.getuid?.() !== 0) return
  const own = paths.filter((path) => path.startsWith('synapse/'))
  for (const path of ['synapse', ...own]) await chown(join(folder, path), synapseUid, synapseUid)
}

function valuesOf(facts: RenderFacts, secrets: BoxSecrets): Record<string, string> {
  const { boxId: _, ...rendered } = secrets
  return {
    project: facts.project,
    slug: facts.slug,
    boxId: facts.boxId,
    imageEdge: facts.images.edge,
    imageSynapse: facts.images.synapse,
    imagePostgres: facts.images.postgres,
    imageMinio: facts.images.minio,
    volumePostgres: `${facts.project}-postgres`,
    volumeMedia: `${facts.project}-media`,
    volumeObjects: `${facts.project}-objects`,
    publicBind: facts.binds.public,
    publicPort: String(facts.ports.public),
    platformBind: facts.binds.platform,
    platformPort: String(facts.ports.platform),
    probePort: String(facts.ports.probe),
    publicUrl: facts.publicUrl,
    chatDomain: facts.chatDomain,
    chatDomainPattern: facts.chatDomain.replaceAll('.', '\\.'),
    maxUploadMegabytes: String(facts.maxUploadMegabytes),
    minioRootUser: facts.minioRootUser ?? facts.project,
    ...rendered,
  }
}

/** Templates contain only `{{name}}` placeholders: no logic, no nesting. */
const placeholder = /\{\{([A-Za-z][A-Za-z0-9]*)\}\}/g

const broken = (reason: string): Problem => problem('CONFIG_INVALID', `The box template ${reason}`)

/**
 * Renders a set of templates. A placeholder without a value and an unused value throw CONFIG_INVALID, because templates and agent ship
 * together. A value that could end a quoted string throws VALIDATION.
 */
export function renderTemplates(templates: ReadonlyMap<string, string>, values: Readonly<Record<string, string>>): Map<string, string> {
  for (const [name, value] of Object.entries(values)) assertPlainValue(name, value)
  const used = new Set<string>()
  const rendered = new Map([...templates].map(([path, text]) => [path, render({ path, text }, values, used)]))
  const unused = Object.keys(values).filter((name) => !used.has(name))
  if (unused.length > 0) throw broken(`does not use ${unused.join(', ')}`)
  return rendered
}

type Template = Readonly<{ path: string; text: string }>

function render({ path, text }: Template, values: Readonly<Record<string, string>>, used: Set<string>): string {
  const filled = text.replace(placeholder, (_, name: string) => {
    if (!Object.hasOwn(values, name)) throw broken(`uses the unknown placeholder {{${name}}} in ${path}`)
    used.add(name)
    return values[name] ?? ''
  })
  if (text.replace(placeholder, '').includes('{{')) throw broken(`has braces in ${path} that are not a {{name}} placeholder`)
  return filled
}

/** Values are quoted in YAML, nginx and JSON, so quotes, braces, spaces and control characters are rejected. */
function assertPlainValue(name: string, value: string): void {
  if (value === '' || /[^\x21-\x7e]|["'`{};$#]/.test(value))
    throw problem('VALIDATION', `The value of ${name} contains characters that are not allowed in a box's files`)
}
